//! Effective concurrency: a request of which only so many are served at a time.
//!
//! For a single request, a saturated CPU looks the same, but it slows down all of them: the rule only speaks of a pool alone when other requests kept
//! their times meanwhile or the processes were seen to be idle. When all grow together otherwise, it says how many at a time, with low confidence.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::evidence::examined;
use crate::evidence::next_limit;
use crate::facts::Facts;
use crate::finding::{Quantity, Subject};
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::busy_sessions::BusySessions;
use crate::facts::exhausted::ExhaustedResource;
use crate::facts::path::PathResource;
use crate::facts::plateau::{Plateau, Plateaus, SlotEstimate, UnaffectedRequest};
use crate::{Confidence, Evidence, Grade, ResourceKind};

/// Half of the interval, as a share of the slots, up to which their number is known well.
const HALF_MAX: f64 = 0.25;
/// Part of the places that one request takes up from which it is named.
const MOST_OF_THEM: f64 = 0.6;
/// Part of those who are served at a time from which most of them compute.
const COMPUTING: f64 = 0.6;
/// Chance of a whole number of places, where there are none, from which it speaks against a rate.
const CHANCE_MAX: f64 = 0.25;
/// The same against places that are held for a part of a request, which are as usual as those that are held for all of it.
const PART_CHANCE_MAX: f64 = 0.1;

pub(super) const RULE: Rule = Rule {
    ids: &["effective-concurrency"],
    title: "Only so many at a time",
    says: "a request is served only so many at a time",
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
    let (limited, kept, grown) = (plateaus.limited.len(), plateaus.unaffected.len(), plateaus.grown);
    // A processor that saturates is ruled out by as many requests that kept their times as there are others: a single one may be served by
    // another process.
    let is_processor_free = kept >= limited + grown;
    if plateaus.limited.iter().any(by_generator) || is_explained(facts, span, is_processor_free) {
        return None;
    }
    // Without a whole number nothing is handed out one at a time, and no pool or lock is in their path; of many numbers, none is known.
    let concurrency = plateaus.concurrency();
    let cpu = computing(facts, span, concurrency).unwrap_or_else(|| examined::cpu(facts, span.0, span.1));
    // What is seen inside the system is surer than what follows from times.
    let sessions = facts.busy_sessions.as_ref();
    let whole = sessions.map(|busy| (busy.number, busy.number)).or_else(|| concurrency.whole().filter(|_| concurrency.is_known()));
    let Some(whole) = whole else {
        return at_most(plateaus, plateaus.places_at_most().filter(|_| plateaus.paced().is_none())?, cpu);
    };
    // Where most of what was measured grew together, their processor is as good an explanation, unless it was seen to be idle.
    let is_alone = if kept == 0 { limited + grown == 1 || (cpu.ruled_out && grown == 0) } else { grown <= kept };
    let kept: &[UnaffectedRequest] = if is_processor_free { &plateaus.unaffected } else { &[] };
    let found = finding(facts.generator.grade(), plateaus, (concurrency, whole), (is_alone, kept), (cpu, sessions));
    Some(next_limit::told(facts, found, span, &|_| false))
}

/// A process that has no more cores than there are places, and computes for most of those who are served at a time: they may wait for its cores.
fn computing(facts: &Facts<'_>, (from, to): (f64, f64), concurrency: SlotEstimate) -> Option<Alternative> {
    let places = f64::max(concurrency.slots + concurrency.half, concurrency.most);
    let processes = facts.path.of_kind(ResourceKind::Process);
    let is_short = |process: &&PathResource<'_>| process.places(from, to).is_some_and(|cores| cores <= places);
    let used = processes.filter(is_short).filter_map(|process| Some((process.part.observer, process.used.as_ref()?.mean(from, to)?)));
    let (name, most) = used.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most >= COMPUTING * concurrency.slots).then(|| {
        let told = format!("\"{name}\" used {} cores: most of those who are served at a time compute", loadstone_units::number(most));
        Alternative::not_ruled_out("A process or thread that is at the limit of its CPU", told)
    })
}

/// What was used up or waited for meanwhile says more than a number; but a core that only looks used up does not, where other requests show that it is
/// free.
fn is_explained(facts: &Facts<'_>, (from, to): (f64, f64), is_processor_free: bool) -> bool {
    let overlaps = |a: f64, b: f64| b.min(to) - a.max(from) >= 0.5 * f64::min(to - from, b - a);
    let is_sure = |resource: &ExhaustedResource<'_>| match resource {
        ExhaustedResource::ProcessCpu(cpu) => cpu.confidence == Confidence::High || !is_processor_free,
        _ => true,
    };
    let is_used_up = facts.used_up().any(|exhausted| is_sure(&exhausted.resource) && overlaps(exhausted.from, exhausted.to));
    let waits = facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up && overlaps(wait.from, wait.to));
    let queues = facts.runtime_queue.as_ref().is_some_and(|queue| queue.is_limit(&facts.plateaus) && overlaps(queue.from, queue.to));
    let locked = facts.thread_wait.as_ref().is_some_and(|wait| wait.is_lock() && overlaps(wait.from, wait.to));
    is_used_up || waits || queues || locked || facts.pools.iter().any(|pool| pool.is_during(from, to))
}

/// `is_alone`: few others grew with them. `kept`: the requests that rule out that everything slowed down; empty where nothing does.
fn finding(
    generator: Grade,
    plateaus: &Plateaus,
    (concurrency, whole): (SlotEstimate, (f64, f64)),
    (is_alone, kept): (bool, &[UnaffectedRequest]),
    (cpu, sessions): (Alternative, Option<&BusySessions<'_>>),
) -> RankedFinding {
    let (limited, SlotEstimate { slots, half, .. }) = (&plateaus.limited, concurrency);
    let names = plateaus.names();
    let is_are = if limited.len() == 1 { "is" } else { "are together" };
    let is_seen = is_alone && (!kept.is_empty() || cpu.ruled_out);
    let rate = limited.iter().map(|plateau| plateau.high.throughput).sum::<f64>();
    let limiter = match sessions {
        Some(busy) => not_by_rate(busy, rate),
        None => delaying_limit(plateaus, rate, concurrency),
    };
    let what = match sessions {
        Some(busy) => each_with_a_session(busy),
        None => what(plateaus, concurrency, is_seen, !limiter.ruled_out),
    };
    let suspect = generator > Grade::Valid;
    let strong = limited.iter().all(Plateau::is_strong);
    let even = plateaus.even().filter(|_| sessions.is_none());
    let is_well_known = !kept.is_empty() && strong && half < HALF_MAX * slots && even.is_none();
    let confidence = match (is_seen, is_well_known, suspect) {
        (false, _, _) => Confidence::Low,
        (true, true, false) => Confidence::High,
        (true, _, _) => Confidence::Medium,
    };
    let slots_text = format!("{} (95 % interval {}–{})", number(slots), number((slots - half).max(0.0)), number(slots + half));
    let whole = if whole.0 < whole.1 { format!("{:.0} to {:.0}", whole.0, whole.1) } else { format!("{:.0}", whole.0) };
    let pace = even.map_or_else(String::new, |pace| format!(" let through at an even {}, or", loadstone_units::rate(pace.mean)));
    let claim = format!("{names} {is_are}{pace} served about {whole} at a time{what}");
    let mut found = RankedFinding::new(Standing::Cause, "effective-concurrency", subject(plateaus), confidence, claim)
        .with(Quantity::count("places", slots).within((slots - half).max(0.0), slots + half))
        .with(Quantity::rate("throughput", rate));
    found.finding.evidence = limited.iter().map(|plateau| evidence(plateau, &slots_text)).collect();
    if let Some((busiest, part)) = plateaus.busiest().filter(|(_, part)| limited.len() > 1 && *part >= MOST_OF_THEM) {
        let text = format!(
            "\"{}\" takes up {} of these places ({} of {} each under low load): the others wait for it",
            busiest.name,
            loadstone_units::share(part),
            loadstone_units::rate(busiest.high.throughput),
            loadstone_units::seconds(busiest.low.service)
        );
        found = found.rests_on(text, vec!["rate/requests".to_owned()], (busiest.high.from, busiest.high.to));
    }
    let found = match sessions {
        Some(busy) => found.rests_on(stood_at(busy), busy.series.clone(), (busy.from, busy.to)),
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
    processor(found, kept, cpu).weigh(limiter).try_next(format!(
        "Look for what lets {whole} at a time through to {names}: a connection pool, worker threads, a semaphore or a lock, here or in what it calls. \
         Raise it by half and run again: throughput should rise by half too, to about {}.",
        loadstone_units::rate(rate * 1.5)
    ))
}

/// Who waits for a place then holds a session of the database: connections, or whatever lets that many get to them.
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

fn stood_at(busy: &BusySessions<'_>) -> String {
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

/// What can let as many through: a number is that of the places only where it is whole by more than chance, or there cannot be two.
fn what(plateaus: &Plateaus, concurrency: SlotEstimate, is_seen: bool, may_be_limiter: bool) -> String {
    let is_size_known = concurrency.is_one() || concurrency.whole_by_chance() <= PART_CHANCE_MAX;
    let (places, are) = match is_seen {
        true => ("a pool, lock or limit of that size", "is"),
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
    let their = if plateaus.limited.len() == 1 { "its" } else { "their" };
    match options.as_slice() {
        [only] => format!(": {only} {are} in {their} path"),
        [all @ .., last] => format!(": {}, or {last}, {are} in {their} path", all.join(", ")),
        [] => String::new(),
    }
}

/// A rate is let through evenly; places give each request the time that it takes. Where all take alike, these look the same, but for a whole number of places,
/// which a rate has only by chance.
fn delaying_limit(plateaus: &Plateaus, rate: f64, concurrency: SlotEstimate) -> Alternative {
    let other = format!("A rate limit of {} that delays instead of rejecting", loadstone_units::rate(rate));
    let by_chance = concurrency.whole_by_chance();
    match plateaus.pace.map(|pace| (pace, format!("{:.1} ended per second with a standard deviation of {:.1}", pace.mean, pace.deviation)))
    {
        Some((pace, told)) if pace.is_beyond_a_rate(plateaus.service_scatter()) => {
            Alternative::ruled_out(other, format!("{told}, and it would let them through evenly"))
        }
        _ if plateaus.even().is_none() && by_chance <= CHANCE_MAX => Alternative::ruled_out(
            other,
            format!(
                "a whole number of places explains the throughput; by chance one would as well in {} of cases",
                loadstone_units::share(by_chance)
            ),
        ),
        Some((_, told)) => Alternative::not_ruled_out(other, told),
        None => Alternative::not_ruled_out(other, "too few ended to see how evenly they do"),
    }
}

/// A saturated processor, as an alternative: by the requests that kept their times, or by what was observed of it.
fn processor(found: RankedFinding, kept: &[UnaffectedRequest], cpu: Alternative) -> RankedFinding {
    match kept {
        [] if cpu.ruled_out => found.weigh(cpu),
        [] => found.weigh(cpu).weigh(Alternative::not_ruled_out(
            "Another resource that all requests share",
            "too few other requests kept their times; add cheap requests to the test",
        )),
        [first, ..] => {
            let inflation = kept.iter().map(|kept| kept.inflation).fold(1.0, f64::max);
            let others = if kept.len() == 1 { format!("\"{}\"", first.name) } else { format!("{} other requests", kept.len()) };
            found.weigh(Alternative::ruled_out(
                "A saturated CPU would slow everything down",
                format!("{others} took at most {} times as long meanwhile", number(inflation)),
            ))
        }
    }
}

fn subject(plateaus: &Plateaus) -> Subject {
    Subject::requests(plateaus.limited.iter().map(|plateau| plateau.name.as_str()))
}

/// How long one takes alone was not seen, only how many there can be.
fn at_most(plateaus: &Plateaus, most: f64, cpu: Alternative) -> Option<RankedFinding> {
    let names = plateaus.names();
    let (stop, are, their) = if plateaus.limited.len() == 1 { ("stops", "is", "its") } else { ("stop together", "are", "their") };
    let rate: f64 = plateaus.limited.iter().map(|plateau| plateau.high.throughput).sum();
    let likely = plateaus.places_of_first().filter(|places| *places <= most);
    let (places, or_fewer) = match likely {
        Some(places) if places < most => (format!("about {places:.0} at a time, at most {most:.0}"), ""),
        Some(places) => (format!("about {places:.0} at a time"), ""),
        None => (format!("at most {most:.0} at a time"), " or fewer"),
    };
    let claim = format!(
        "{names} {stop} at {} however many users there are, and {are} served {places}: workers, a pool, a lock or cores of that number{or_fewer} are in \
         {their} path",
        loadstone_units::rate(rate)
    );
    let mut found = RankedFinding::new(Standing::Cause, "effective-concurrency", subject(plateaus), Confidence::Low, claim);
    let slots = |plateau: &Plateau| {
        let (users, service) = (loadstone_units::number(plateau.lowest.load), loadstone_units::seconds(plateau.lowest.service));
        format!("at most {most:.0} of all together (with the fewest users, {users}, it took {service}, and some may have waited even then)")
    };
    found.finding.evidence = plateaus.limited.iter().map(|plateau| evidence(plateau, &slots(plateau))).collect();
    let equal = plateaus.places_of_equal_times().filter(|places| *places <= most).map(|places| {
        let first = if likely.is_some() { ", and the very first took as long" } else { "" };
        format!("throughput × the time of the fastest = {places:.0}{first}: so many, if each holds its place for the same time")
    });
    let found = match equal {
        Some(text) => found.rests_on(text, vec!["rate/requests".to_owned()], plateaus.span().unwrap_or_default()),
        None => found,
    };
    let next = "Start with a single user and run again: how long a request takes alone says how many there are.";
    let limit = Alternative::not_ruled_out("A rate limit that delays", "how long a request takes alone was not seen");
    Some(found.weigh(cpu).weigh(limit).try_next(next))
}

fn evidence(plateau: &Plateau, slots: &str) -> Evidence {
    let Plateau { name, low, high, reached, .. } = plateau;
    Evidence {
        text: format!(
            "\"{}\": throughput stopped at {} ({} of what the load asked for) while service times grew from {} to {}; throughput × \
             service time without waiting = {slots}",
            name,
            loadstone_units::rate(high.throughput),
            loadstone_units::share(*reached),
            loadstone_units::seconds(low.service),
            loadstone_units::seconds(high.service)
        ),
        series: vec!["rate/asked".to_owned(), "rate/requests".to_owned(), "response/p50".to_owned()],
        from_seconds: high.from,
        to_seconds: high.to,
    }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
