//! A request that is served only so many at a time: throughput stops while the load grows.
//!
//! By Little's law, the number of places is `k = X_max · S₀`: the throughput of the plateau times the service time under low load.
//!
//! | condition | limit |
//! |---|---|
//! | throughput | below {plateau::REACHED_PART_MAX:%} of the load, and grows {plateau::FLAT_GROWTH_FACTOR_MAX} times at most while the load grows |
//! | times | {load_response::SLOWER_FACTOR_MIN} times as long; {plateau::STRONG_GROWTH_FACTOR_MIN} times for high confidence |
//! | requests in the system | {plateau::ONE_SLOT_MIN} or more on average |
//! | failed requests | {plateau::FAILED_SHARE_MAX:%} at most |
//! | k | a whole number, by its 95 % interval or within {plateau::NEAR_WHOLE_WITHIN:%} |
//! | other resources | none is exhausted or waited for |
//!
//! Requests that become slower together count as one queue. If S₀ is unknown, the finding gives an upper bound.
//!
//! - **Database sessions**: exactly k sessions were in use in {busy_sessions::EQUAL_READINGS_SHARE_MIN:%} of the readings.
//! - **CPU**: requests that remained fast (within a factor of {plateau::UNAFFECTED_INFLATION_MAX}) or an idle process rule it out. Otherwise, confidence is
//!   low.
//! - **Rate limit**: an uneven pace rules it out, or a k that is whole by chance in {WHOLE_UNDER_RATE_LIMIT_MAX:%} of cases at most.
//! - **Request threads**: every request waits equally long, also one that takes a tenth of that at most, the process is idle, and an endpoint of the service
//!   that an observer reads stops answering meanwhile. That rules out a pool or lock behind the threads.
//!
//! If the interval of k begins below {plateau::ONE_SLOT_MIN}, a share of a core, such as a CPU quota, explains the throughput as well as one place does.
//!
//! Fewer places that are held for part of the request allow the same throughput. The claim names both, unless k would be whole by chance in
//! {plateau::WHOLE_UNDER_PARTIAL_HOLD_MAX:%} of cases at most.
//!
//! Where something inside the system names the place, this finding is evidence of that one: threads that wait for a free pool member, request threads that are
//! all busy ([`busy-threads`](busy-threads.md)), or a constant number of database connections that the plateau allows
//! ([`held-connections`](held-connections.md)).

use loadstone_metrics::Role;

use crate::evidence::common_wait::{self, CommonWait};
use crate::evidence::{examined, next_limit};
use crate::facts::Facts;
use crate::facts::busy_sessions::BusySessions;
use crate::facts::exhausted::ExhaustedResource;
use crate::facts::path::PathResource;
use crate::facts::plateau::{Plateau, Plateaus, SlotEstimate, UnaffectedRequest};
use crate::facts::search::overlap_by_half;
use crate::facts::thread_wait::ThreadWait;
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::remark::load_target::LoadTarget;
use crate::{Confidence, Evidence, Grade, ResourceKind};

/// Half of the interval, as a part of the places, up to which their number is well known.
const INTERVAL_HALF_PART_MAX: f64 = 0.25;
/// Part of the places that a request takes up from which it is named.
const BUSIEST_PLACES_PART_MIN: f64 = 0.6;
/// Cores in use, as a part of the requests in service, from which most of these compute.
const COMPUTING_PART_MIN: f64 = 0.6;
/// Probability of a whole number under a rate limit, up to which a whole number rules out the rate limit.
const WHOLE_UNDER_RATE_LIMIT_MAX: f64 = 0.25;

pub(super) const RULE: Rule = Rule {
    ids: &["effective-concurrency"],
    page: "effective-concurrency",
    title: "Only so many at a time",
    says: "a request is served only so many at a time",
    example: Example {
        run: "examples/effective-concurrency",
        claim: "\"POST /checkout\" is served about 4 at a time: a pool, lock or limit of that size is in the request path",
    },
    needs: &[],
    settings: &["pool", "connection", "worker", "thread", "lock", "limit", "semaphore", "concurrency"],
    precedence: 320,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    if facts.saturated_link.is_some() || facts.slow_connects.is_some() {
        return None;
    }
    let plateaus = &facts.plateaus;
    let by_generator = |plateau: &Plateau| {
        let (low, high) = (&plateau.low, &plateau.high);
        facts.generator.explains(high.service - low.service, (low.from, low.to), (high.from, high.to))
    };
    let span = plateaus.span()?;
    let (limited, unaffected, grown) = (plateaus.limited.len(), plateaus.unaffected.len(), plateaus.grown);
    // A saturated processor is ruled out by as many requests that remained fast as there are others. A single one may be served by another process.
    let is_processor_free = unaffected >= limited + grown;
    if plateaus.limited.iter().any(by_generator) || is_explained(facts, span, is_processor_free) {
        return None;
    }
    // Without a whole number, no pool or lock in the request path serves a fixed number. Where several numbers are possible, none is known.
    let concurrency = plateaus.concurrency();
    let cpu = computing(facts, span, concurrency).unwrap_or_else(|| examined::cpu(facts, span.0, span.1));
    // Sessions observed inside the system are more certain than a number inferred from times.
    let sessions = facts.busy_sessions.as_ref();
    let whole = sessions.map(|busy| (busy.number, busy.number)).or_else(|| concurrency.whole().filter(|_| concurrency.is_known()));
    let Some(whole) = whole else {
        return at_most(plateaus, plateaus.places_at_most().filter(|_| plateaus.paced().is_none())?, cpu);
    };
    let common = common_wait::find(facts, span).filter(|common| cpu.ruled_out && common.reaches_an_observer());
    // Where most requests grew together, a shared processor explains it equally well, unless it was observed to be idle.
    let are_explained = grown == 0 || common.is_some();
    let is_alone = if unaffected == 0 { limited + grown == 1 || (cpu.ruled_out && are_explained) } else { grown <= unaffected };
    let unaffected: &[UnaffectedRequest] = if is_processor_free { &plateaus.unaffected } else { &[] };
    let mut found = finding(facts.generator.grade(), plateaus, (concurrency, whole), (is_alone, unaffected), (cpu, sessions));
    if let Some(common) = common {
        found.finding.claim = claim_before_any_work(&common, whole);
        found = found.try_next(next_before_any_work(facts, whole));
    }
    // What names the place is the cause, and the number of requests at a time its symptom.
    let symptom = found.finding.evidence.len();
    let found = if is_place_named(facts, span) { found.outlining(symptom) } else { found };
    Some(next_limit::add_evidence(facts, found, span, &|_| false))
}

/// Whether connections or threads show for which place the requests wait.
fn is_place_named(facts: &Facts<'_>, (from, to): (f64, f64)) -> bool {
    let is_held = facts.constant_connections.as_ref().is_some_and(|held| held.explains_plateau);
    let are_busy = facts.busy_threads.as_ref().is_some_and(|busy| busy.is_during(from, to));
    let is_member = |wait: &&ThreadWait<'_>| wait.place().role == Role::ThreadsWaitingForMember && wait.is_during(from, to);
    is_held || are_busy || facts.thread_wait.as_ref().filter(is_member).is_some()
}

/// A process that has no more cores than there are places, and computes for most of the requests in service: they may wait for its cores.
fn computing(facts: &Facts<'_>, (from, to): (f64, f64), concurrency: SlotEstimate) -> Option<Alternative> {
    let places = f64::max(concurrency.slots + concurrency.half, concurrency.most);
    let processes = facts.path.of_kind(ResourceKind::Process);
    let is_short = |process: &&PathResource<'_>| process.places(from, to).is_some_and(|cores| cores <= places);
    let used = processes.filter(is_short).filter_map(|process| Some((process.part.observer, process.used.as_ref()?.mean(from, to)?)));
    let (name, most) = used.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most >= COMPUTING_PART_MIN * concurrency.slots).then(|| {
        let used = format!("\"{name}\" used {} cores: most of the requests in service compute", loadstone_units::number(most));
        Alternative::not_ruled_out("A process or thread that is at the limit of its CPU", used)
    })
}

/// Whether an exhausted resource or a wait explains the plateau better than a number. A core that only seems exhausted does not, where other requests show
/// that it is free.
fn is_explained(facts: &Facts<'_>, (from, to): (f64, f64), is_processor_free: bool) -> bool {
    let overlaps = |a: f64, b: f64| overlap_by_half((a, b), (from, to));
    let is_sure = |resource: &ExhaustedResource<'_>| match resource {
        ExhaustedResource::ProcessCpu(cpu) => cpu.confidence == Confidence::High || !is_processor_free,
        _ => true,
    };
    let is_used_up = facts.used_up().any(|exhausted| is_sure(&exhausted.resource) && overlaps(exhausted.from, exhausted.to));
    let waits = facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up() && overlaps(wait.from, wait.to));
    let queues = facts.runtime_queue.as_ref().is_some_and(|queue| queue.is_limit(&facts.plateaus) && overlaps(queue.from, queue.to));
    let locked = facts.thread_wait.as_ref().is_some_and(|wait| wait.is_lock() && overlaps(wait.from, wait.to));
    is_used_up || waits || queues || locked || facts.pools.iter().any(|pool| pool.is_during(from, to))
}

/// `is_alone`: few other requests grew with them. `unaffected`: the requests that rule out that everything slowed down; empty where nothing does.
fn finding(
    generator: Grade,
    plateaus: &Plateaus,
    (concurrency, whole): (SlotEstimate, (f64, f64)),
    (is_alone, unaffected): (bool, &[UnaffectedRequest]),
    (cpu, sessions): (Alternative, Option<&BusySessions<'_>>),
) -> RankedFinding {
    let (limited, SlotEstimate { slots, half, .. }) = (&plateaus.limited, concurrency);
    let names = plateaus.names();
    let is_are = if limited.len() == 1 { "is" } else { "are together" };
    let is_seen = is_alone && (!unaffected.is_empty() || cpu.ruled_out);
    let rate = limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>();
    let limiter = match sessions {
        Some(busy) => not_by_rate(busy, rate),
        None => delaying_limit(plateaus, rate, concurrency),
    };
    let cause = match sessions {
        Some(busy) => each_with_a_session(busy),
        None => possible_causes(plateaus, concurrency, is_seen, !limiter.ruled_out),
    };
    let suspect = generator > Grade::Valid;
    let strong = limited.iter().all(Plateau::is_strong);
    let even = plateaus.even().filter(|_| sessions.is_none());
    let is_well_known = !unaffected.is_empty() && strong && half < INTERVAL_HALF_PART_MAX * slots && even.is_none();
    let confidence = match (is_seen, is_well_known, suspect) {
        (false, _, _) => Confidence::Low,
        (true, true, false) => Confidence::High,
        (true, _, _) => Confidence::Medium,
    };
    let slots_text = format!("{} (95 % interval {}–{})", number(slots), number((slots - half).max(0.0)), number(slots + half));
    // The interval is no narrower than the numbers of the claim.
    let interval = ((slots - half).max(0.0).min(whole.0), (slots + half).max(whole.1));
    let whole = places_text(whole);
    let pace = even.map_or_else(String::new, |pace| format!(" let through at an even {}, or", loadstone_units::rate(pace.mean)));
    let claim = format!("{names} {is_are}{pace} served about {whole} at a time{cause}");
    let mut found = RankedFinding::new(Standing::Cause, "effective-concurrency", subject(plateaus), confidence, claim)
        .with(Quantity::count("places", slots).within(interval.0, interval.1))
        .with(Quantity::rate("throughput", rate));
    if let Some(busy) = sessions {
        found = found.with(Quantity::count("sessions", busy.number));
    }
    found.finding.evidence = limited.iter().map(|plateau| evidence(plateau, &slots_text)).collect();
    if let Some((busiest, part)) = plateaus.busiest().filter(|(_, part)| limited.len() > 1 && *part >= BUSIEST_PLACES_PART_MIN) {
        let text = format!(
            "\"{}\" takes up {} of these places ({} of {} each under low load): the others wait for it",
            busiest.name,
            loadstone_units::share(part),
            loadstone_units::rate(busiest.high.throughput),
            loadstone_units::seconds(busiest.low.service)
        );
        let stretch = (busiest.high.from, busiest.high.to);
        let evidence = Evidence::new(text, vec!["rate/requests".to_owned()], stretch).of_requests([busiest.name.as_str()]);
        found = found.rests_on_drawn(evidence.level("rate/requests", "on average", busiest.high.throughput, stretch));
    }
    let found = match sessions {
        Some(busy) => found.rests_on(constant_sessions(busy), busy.series.clone(), (busy.from, busy.to)),
        None => found,
    };
    let found = match even {
        Some(pace) => found.rests_on(
            format!(
                "{:.1} of them ended per second with a standard deviation of {:.1}, though some take {} times as long as others",
                pace.mean,
                pace.deviation,
                number(plateaus.service_times_apart())
            ),
            vec!["rate/requests".to_owned()],
            plateaus.span().unwrap_or_default(),
        ),
        None => found,
    };
    processor(found, unaffected, cpu).weigh(limiter).try_next(format!(
        "Look for a limit of {whole} on {names}: a connection pool, worker threads, a semaphore or a lock, in the service or in its dependencies. \
         Raise it by half and run again: it should then serve up to about {}.",
        loadstone_units::rate(rate * 1.5)
    ))
}

fn places_text((low, high): (f64, f64)) -> String {
    if low < high { format!("{low:.0} to {high:.0}") } else { format!("{low:.0}") }
}

/// Every request waits for a place, before any work is done for it, and so does an endpoint that does none of this work.
fn claim_before_any_work(common: &CommonWait, whole: (f64, f64)) -> String {
    let places = if whole.1 > 1.0 {
        "as many request threads or workers are all busy"
    } else {
        "the only request thread or worker, or the event loop, is always busy"
    };
    format!("All requests are served about {} at a time, {}: {places}", places_text(whole), common.also())
}

fn next_before_any_work(facts: &Facts<'_>, whole: (f64, f64)) -> String {
    let observe = LoadTarget::of_run(facts).observe_runtime(&facts.run.plan, &facts.terms());
    let observe = observe.map_or_else(String::new, |observe| format!(" {observe}"));
    format!(
        "Look for a setting of {} request threads, workers or processes, and find out what keeps them busy. Double it and run again: \
         all requests should wait for less time.{observe}",
        places_text(whole)
    )
}

/// Each place holds a database session: a connection, or a worker or place that limits the access to connections.
fn each_with_a_session(busy: &BusySessions<'_>) -> String {
    let database = busy.database;
    match busy.number {
        1.0 => {
            format!(", with the only session of \"{database}\" that is in use: a pool of one connection, or a lock or worker that holds it")
        }
        number => format!(
            ", each with one of the {number:.0} sessions of \"{database}\" that are in use: a pool of {number:.0} connections, or as many workers or \
             places that hold one"
        ),
    }
}

fn constant_sessions(busy: &BusySessions<'_>) -> String {
    format!(
        "as many sessions of \"{}\" were running a statement or had a transaction open, and never more: {} on average, {:.0} in {} of the readings",
        busy.database,
        loadstone_units::number(busy.mean),
        busy.number,
        loadstone_units::share(busy.share)
    )
}

fn not_by_rate(busy: &BusySessions<'_>, rate: f64) -> Alternative {
    Alternative::ruled_out(
        format!("A rate limit of {} that delays instead of rejecting", loadstone_units::rate(rate)),
        format!("it would not keep the sessions of \"{}\" at {:.0}", busy.database, busy.number),
    )
}

/// The possible causes. The number is that of the places only if it is whole by more than chance, or if there are fewer than two.
fn possible_causes(plateaus: &Plateaus, concurrency: SlotEstimate, is_seen: bool, may_be_limiter: bool) -> String {
    let is_size_known = concurrency.is_size_known();
    let (places, are) = match is_seen {
        true => ("a pool, lock or limit of that size", "is"),
        // A share of a core serves one request at a time, and that one for longer than it computes.
        false if concurrency.may_be_a_share() => ("workers, a pool, a lock, a core or a share of one (a CPU quota)", "are"),
        false => ("workers, a pool, a lock or cores of that number", "are"),
    };
    let limiter = "a rate limit that delays";
    let is_even = plateaus.even().is_some();
    let mut options = vec![places];
    if is_even {
        options.insert(0, limiter);
    }
    if !is_size_known {
        options.push("fewer places that are held for part of the time");
    }
    if may_be_limiter && !is_even {
        options.push(limiter);
    }
    match options.as_slice() {
        [only] => format!(": {only} {are} in the request path"),
        [all @ .., last] => format!(": {}, or {last}, {are} in the request path", all.join(", ")),
        [] => String::new(),
    }
}

/// A rate limit lets requests through evenly, while places serve each request for its own time. With equal times both look the same, except that a rate limit
/// shows a whole number of places only by chance.
fn delaying_limit(plateaus: &Plateaus, rate: f64, concurrency: SlotEstimate) -> Alternative {
    let other = format!("A rate limit of {} that delays instead of rejecting", loadstone_units::rate(rate));
    let by_chance = concurrency.whole_by_chance();
    match plateaus.pace.map(|pace| (pace, format!("{:.1} ended per second with a standard deviation of {:.1}", pace.mean, pace.deviation)))
    {
        Some((pace, scatter)) if pace.is_beyond_a_rate(plateaus.service_scatter()) => {
            Alternative::ruled_out(other, format!("{scatter}, and a rate limit would let them through evenly"))
        }
        _ if plateaus.even().is_none() && by_chance <= WHOLE_UNDER_RATE_LIMIT_MAX => Alternative::ruled_out(
            other,
            format!(
                "a whole number of places explains the throughput; by chance, one would do so in {} of cases",
                loadstone_units::share(by_chance)
            ),
        ),
        Some((_, scatter)) => Alternative::not_ruled_out(other, scatter),
        None => Alternative::not_ruled_out(other, "too few requests ended to judge how evenly they end"),
    }
}

/// A saturated processor, as another cause: judged by the requests that remained fast, or by the observed CPU.
fn processor(found: RankedFinding, unaffected: &[UnaffectedRequest], cpu: Alternative) -> RankedFinding {
    match unaffected {
        [] if cpu.ruled_out => found.weigh(cpu),
        [] => found.weigh(cpu).weigh(Alternative::not_ruled_out(
            "Another resource that all requests share",
            "too few other requests remained fast; add cheap requests to the test",
        )),
        [first, ..] => {
            let inflation = unaffected.iter().map(|request| request.inflation).fold(1.0, f64::max);
            let others = if unaffected.len() == 1 { format!("\"{}\"", first.name) } else { format!("{} other requests", unaffected.len()) };
            found.weigh(Alternative::ruled_out(
                "A saturated CPU, which would slow down every request",
                format!("{others} took at most {} times as long meanwhile", number(inflation)),
            ))
        }
    }
}

fn subject(plateaus: &Plateaus) -> Subject {
    Subject::requests(plateaus.limited.iter().map(|plateau| plateau.name.as_str()))
}

/// An upper bound on the places, where the time of a request without waiting is unknown.
fn at_most(plateaus: &Plateaus, most: f64, cpu: Alternative) -> Option<RankedFinding> {
    let names = plateaus.names();
    let are = if plateaus.limited.len() == 1 { "is" } else { "are together" };
    let rate: f64 = plateaus.limited.iter().map(|plateau| plateau.high.throughput).sum();
    let likely = plateaus.places_of_first().filter(|places| *places <= most);
    let (places, or_fewer) = match likely {
        Some(places) if places < most => (format!("about {places:.0} at a time, at most {most:.0}"), ""),
        Some(places) => (format!("about {places:.0} at a time"), ""),
        None => (format!("at most {most:.0} at a time"), " or fewer"),
    };
    let share = if most < 2.0 { ", a share of a core (a CPU quota)" } else { "" };
    let claim = format!(
        "{names} {are} served {places}, and throughput stops at {} however many users there are: workers, a pool, a lock{share} or cores of that \
         number{or_fewer} are in the request path",
        loadstone_units::rate(rate)
    );
    let mut found = RankedFinding::new(Standing::Cause, "effective-concurrency", subject(plateaus), Confidence::Low, claim)
        .with(Quantity::count("places_max", most))
        .with(Quantity::rate("throughput", rate));
    if let Some(places) = likely {
        found = found.with(Quantity::count("places", places));
    }
    let slots = |plateau: &Plateau| {
        let (users, service) = (loadstone_units::number(plateau.lowest.load), loadstone_units::seconds(plateau.lowest.service));
        format!(
            "at most {most:.0} for all together (with the fewest users, {users}, it took {service}, and some may have waited even then)"
        )
    };
    found.finding.evidence = plateaus.limited.iter().map(|plateau| evidence(plateau, &slots(plateau))).collect();
    let equal = plateaus.places_of_equal_times().filter(|places| *places <= most).map(|places| {
        let first = if likely.is_some() { ", and the first requests took as long" } else { "" };
        format!("throughput × the time of the fastest request = {places:.0}{first}: that many places, if each is held for the same time")
    });
    let found = match equal {
        Some(text) => found.rests_on(text, vec!["rate/requests".to_owned()], plateaus.span().unwrap_or_default()),
        None => found,
    };
    let next = "Start with a single user and run again: the time of a request without waiting shows how many places there are.";
    let limit = Alternative::not_ruled_out("A rate limit that delays", "the time of a request without waiting is unknown");
    Some(found.weigh(cpu).weigh(limit).try_next(next))
}

fn evidence(plateau: &Plateau, slots: &str) -> Evidence {
    let Plateau { name, low, high, reached, .. } = plateau;
    plateau.evidence(format!(
        "\"{}\": throughput stopped at {} ({} of the requested load) while service times grew from {} to {}; throughput × \
             service time without waiting = {slots}",
        name,
        loadstone_units::rate(high.throughput),
        loadstone_units::share(*reached),
        loadstone_units::seconds(low.service),
        loadstone_units::seconds(high.service)
    ))
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
