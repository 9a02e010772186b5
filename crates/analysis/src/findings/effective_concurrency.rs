//! Effective concurrency: a request of which only so many are served at a time.
//!
//! For a single request, a saturated CPU looks the same, but it slows down all of them: the rule only speaks of a pool alone when other requests kept
//! their times meanwhile or the processes were seen to be idle. When all grow together otherwise, it says how many at a time, with low confidence.
//!
//! *"Check out" is served about 4 at a time: a pool, lock or limit of that size is in its path.*
//!
//! Behind a pool of k connections, k workers or a lock (k = 1) with service time S, throughput cannot exceed k / S. Once the load asks for more,
//! throughput stays there and times grow by the wait for a slot. By Little's law, `k = X_max · S₀`: the plateau's throughput times the service time under
//! low load.
//!
//! Made only if all of this holds:
//!
//! - **the request's throughput fell behind the load**: below 90 % of the requested load
//! - **throughput stayed flat while the load grew**: within 15 %
//! - **its times grew**: at least 1.5-fold (3-fold for high confidence)
//! - **it was saturated**: for at least 4 blocks of time
//! - **somebody is held back**: 0.9 of these requests or more in the system on average (throughput × time, Little's law); with fewer, less was asked for
//!   by chance
//! - **failures do not explain it**: at most 20 % of the plateau's requests failed
//! - **k is a whole number**: the interval holds one, or one is within 10 %; and it does not reach from one number to more than its double
//! - **nothing else is used up**: no CPU, pool, or wait of the database was found in the same stretch
//!
//! S₀ is the mean over the least load, 50 requests or more; where queueing begins sooner, over what came before it, 8 requests or more. The interval of k
//! comes from the blocks of the plateau and the uncertainty of S₀: how its blocks differ, and no less than the scatter of single times over the square
//! root of their number, since two blocks may happen to be alike. Some waiting happens even under low load; it is subtracted using Sakasegawa's
//! approximation (1977), but no more than the scatter of the times allows, with its whole span as error. If two or more users of closed load got 75 % of
//! the plateau's throughput from the start, the very lowest load stands in, 8 requests or more: where it got less, or where times stayed within 10 %
//! while users grew by a half, since N users who wait take N / X seconds for each turn (Little 1961). If it shows neither, how long a request takes alone
//! was not seen: then only a bound is given, with low confidence. Throughput times the mean time under the very fewest users (the upper end of its
//! interval) is as many as there can be, as some may have waited even then; where that comes near the number of users, and those were more than a quarter
//! of the plateau's, it says nothing, since it holds of any system (Little 1961), and no finding is made. Beside the bound stands a number ("about 2 at a
//! time, at most 4") where throughput times the fastest request is whole within an eighth, and the first two or more, under the fewest users, took at
//! most a tenth longer than the fastest: then each holds its place for the same time, as far as was seen.
//!
//! **What the number carries.** X · S₀ is how many of these requests are at work at a time, which need not be the number of places:
//!
//! - k places that are held for a share *s* of the time let k/s through at a time (utilisation law), as a lock does, or a connection that is held for one
//!   statement. A whole number speaks against that only where one would lie as near by chance in at most a tenth of cases; otherwise the sentence says
//!   "or fewer places that are held for part of the time". Below two, there is one place, whatever part of the time it is held.
//! - Not all places need be busy on average. By Sakasegawa's formula more wait at a higher utilisation, so as many as wait bound how many places there
//!   can be, and the sentence names the range.
//! - Other requests of the same scenario may hold places. In one queue all wait equally long: one that was seen to wait for less than half of that time
//!   (one-sided, at 5 %) holds none. Of any other, X · S₀ is added to what there can be at most.
//! - A rate limit that delays is named as well where it is not ruled out.
//!
//! **Sessions of an observed database** tell more than times do. If during the plateau as many are in use (with a statement or an open transaction) in 80
//! % of the readings and never more, with at most three quarters of that under low load, 1.5 times as many requests in the system, and X · S₀ between
//! that number and its double, then each of the places holds a session: *served about 3 at a time, each with one of the 3 sessions of "postgres" that are
//! in use*. That is a pool of connections, or as many workers or places that each hold one; no rate keeps sessions at a number.
//!
//! Requests that were limited together share the same slots, so their parts add up. Each of them alone may be too rare to show where its throughput
//! stops: those of one scenario that take longer at the top of its load by a quarter of the longest growth or more, beyond three standard errors, wait in
//! one queue and are looked at as one, with the time of each under low load replaced by the mean of all. A request whose growth is less than a twentieth
//! of the largest does not wait there, and one that began to wait more than four blocks after the first, and waited for less until then, was drawn in
//! later; it rules out a saturated CPU until then. Where one of them takes up 60 % of the places, it is named: the others wait for it.
//!
//! Where k is no whole number, nothing is held one at a time for the whole request: that is a limiter that delays, or, unless k is below 1, a lock or
//! pool that is held for a part of the request ([`rate-limit`](rate-limit.md)).
//!
//! Where requests whose service times differ at least twofold are limited together, and yet leave at an even pace (a variance of at most a tenth of the
//! mean, over 6 seconds or more), a rate limit that delays is as likely as a pool: what leaves a pool depends on what is served. Then both are said, with
//! medium confidence.
//!
//! *Alternatives:* a saturated CPU slows every request down, so other requests that kept their times (within 1.25-fold) rule it out, and so does an
//! observed process that used less than 0.8 of a core in either half of the stretch and whose threads did not wait for one. If all of them grow together
//! and no process was observed, it says how many at a time, with low confidence: workers, a pool, a lock, or that many cores. If the process had nearly
//! as many cores in use (85 % of k), they are the places, and [`cpu`](cpu.md) says so; so they are where k may be the number of its cores, and 85 % of
//! the k that are served on average compute. One that computes for 60 % of them is not ruled out. A rate limit that delays is ruled out where the
//! requests leave less evenly, beyond chance in one of 100 cases (chi-squared), than they would after one (their own times scatter what it lets through),
//! or where the interval of k is so narrow that a rate would hold a whole number in it in at most a quarter of cases; otherwise the confidence is medium
//! at most. A generator that could not keep up shows in the validity checks, and the `generator` rule speaks first.

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
    Some(next_limit::add_evidence(facts, found, span, &|_| false))
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
