//! Requests that stop at a rate, but not at a whole number at a time: a rate limit that delays, or a lock or pool that is held for part of the request.
//!
//! The rule computes how many requests are served at a time, as [`effective-concurrency`](effective-concurrency.md) does:
//!
//! | number at a time | cause |
//! |---|---|
//! | below one | a rate limit that delays |
//! | not whole, at an even pace | a rate limit that delays, or a lock or pool that each request holds for the same part of its time |
//! | unknown, at an even pace | places that each request holds for the same time, or a rate limit that delays |
//! | not whole otherwise | a lock or pool held for part of the request, or a rate limit that delays |
//! | below one or not whole, in sessions | the same, or places that each session holds from its begin to its end |
//!
//! By the utilisation law, k places that are held for a share *s* of the time let k/s requests through.
//!
//! An iteration is a session if it opens a connection, and if requests other than those that wait remain fast. A server with a process, worker or connection
//! for each session then delays only its first requests, and holds that place over the pauses of the script, too. A pace excludes that if it is clearly more
//! even than the times of iterations, and so does less than one iteration in progress at a time.
//!
//! If the system has a constant number of connections that explains the rate, this becomes evidence of [`held-connections`](held-connections.md).
//!
//! A limit in front of a service counts the requests of all names. The finding reports all of them together if these hold:
//!
//! - Their sum passes at an even rate for {even_passage::SECONDS_MIN} s or more while they wait.
//! - At most {pace::PLACES_MAX} of them are in service at a time: the rate, times the time without waiting.
//! - Those that wait become {even_passage::BACKLOG_FACTOR_MIN} times as many, by {even_passage::BACKLOG_PART_MIN:%} of those that pass. Even arrivals that are
//!   all carried pass evenly, too.
//!
//! If some fail meanwhile, the limit rejects the requests that would wait for too long.
//!
//! The rule reports nothing if another limit explains the plateau. Unless the pace is even, as many requests must remain fast as became slow, or an observed
//! CPU must be idle.
//!
//! Confidence is medium at most, and low where no control group was observed: a CPU quota looks the same.

use loadstone_metrics::Role;

use crate::evidence::examined;
use crate::facts::Facts;
use crate::facts::held_sessions::HeldSessions;
use crate::facts::plateau::{Plateau, Plateaus, SlotEstimate};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::{clock, named};
use crate::{Confidence, Grade};

/// How requests pass.
#[derive(Clone, Copy, PartialEq)]
enum Passage {
    /// Fewer than one place would let through.
    LessThanOne,
    /// At an even rate, independent of the time of each.
    Even,
    /// At an even rate, but the time of a request without waiting is unknown.
    EvenUnseen,
    /// Not at a whole number of places.
    Part,
}

pub(super) const RULE: Rule = Rule {
    ids: &["rate-limit"],
    page: "delaying-limit",
    title: "A rate limit delays",
    says: "requests are let through at an even rate",
    example: Example {
        run: "examples/delaying-limit",
        claim: "The throughput of \"List\" stops at 25.2/s, at an even pace, however high the load is: the cause is a lock that each holds for \
                39.7 ms of its 58.1 ms, or a rate limit that delays",
    },
    needs: &[],
    settings: &["rate", "limit", "quota"],
    precedence: 230,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let is_other = facts.saturated_link.is_some()
        || facts.slow_connects.is_some()
        || facts.used_up().next().is_some()
        || facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up())
        || !facts.pools.is_empty()
        || facts.busy_sessions.is_some()
        || facts.runtime_queue.as_ref().is_some_and(|queue| queue.is_limit(&facts.plateaus));
    if is_other || facts.generator.grade() == Grade::Invalid {
        return None;
    }
    // Requests that remain fast next to the limited ones do not pass the same limit.
    let together = if facts.plateaus.unaffected.is_empty() { of_all_together(facts) } else { None };
    together.or_else(|| of_plateaus(facts))
}

/// The sum of all requests passes at an even rate.
fn of_all_together(facts: &Facts<'_>) -> Option<RankedFinding> {
    let even = facts.even_passage.as_ref()?;
    let (number, rate) = (loadstone_units::number, loadstone_units::rate(even.rate));
    let rejected = facts.failing.iter().find(|failing| failing.when.onset().is_some_and(|at| at >= even.from && at <= even.to));
    let rejects = rejected.and_then(|failing| Some((failing.kinds.first()?, failing.when.onset()?)));
    let rejects = rejects.map_or_else(String::new, |(kind, at)| format!(", and rejects some from {} on ({})", clock(at), kind.text));
    let claim = format!("All requests together pass at {rate}, at an even pace, however many wait: a rate limit delays them{rejects}");
    let span = (even.from, even.to);
    let quota = quota(facts);
    let found = RankedFinding::new(Standing::Cause, "rate-limit", Subject::Whole, Confidence::Medium, claim)
        .with(Quantity::rate("throughput", even.rate).within((even.rate - even.half).max(0.0), even.rate + even.half))
        .rests_on(
            format!("{:.1} of them passed per second with a standard deviation of {:.1}", even.rate, even.deviation),
            vec!["rate/requests".to_owned(), "rate/failures".to_owned()],
            span,
        )
        .at_level("rate/requests", "passed", even.rate)
        .rests_on(
            format!("the requests in the system went from {} to {}", number(even.in_system.0), number(even.in_system.1)),
            vec!["in_flight/requests".to_owned()],
            span,
        );
    let at_a_time = format!(
        "{rate} × {} without waiting = {} requests in service at a time: less than one place",
        loadstone_units::seconds(even.alone_s),
        number(even.at_a_time())
    );
    Some(
        found
            .weigh(Alternative::ruled_out(
                "A pool, a lock, workers or a core, of which at least one place is in use all the time",
                at_a_time,
            ))
            .weigh(quota)
            .try_next(format!(
                "Look for a rate limiter (in a gateway, a proxy or the service) that lets {rate} through. If it is intended, stay below it."
            )),
    )
}

/// Some requests stop at a rate.
fn of_plateaus(facts: &Facts<'_>) -> Option<RankedFinding> {
    let plateaus = &facts.plateaus;
    let (from, to) = plateaus.span()?;
    let concurrency = plateaus.concurrency();
    let cpu = examined::cpu(facts, from, to);
    // The processor is ruled out by as many requests that remained fast as there are others, by an observed idle processor, or by an even pace.
    let is_shared = plateaus.unaffected.len() < plateaus.limited.len() + plateaus.grown && !cpu.ruled_out;
    let passage = passage(plateaus, concurrency)?;
    // Other requests that wait as well may hold the same place. The limited ones are then only a part of those that pass.
    let is_a_part = plateaus.grown > 0 && plateaus.paced().is_none();
    if is_a_part || (is_shared && plateaus.paced().is_none()) {
        return None;
    }
    let names = plateaus.names();
    let rate: f64 = plateaus.limited.iter().map(|plateau| plateau.high.throughput).sum();
    let pace = if plateaus.paced().is_some() { ", at an even pace" } else { "" };
    let throughput = if plateaus.limited.len() == 1 { "throughput" } else { "combined throughput" };
    let sessions = facts.held_sessions.as_ref().filter(|_| matches!(passage, Passage::LessThanOne | Passage::Part));
    let held = sessions.map_or_else(String::new, |sessions| {
        format!(", or places that each session holds to its end (at most {} at a time)", loadstone_units::number(sessions.most().ceil()))
    });
    let cause = cause(passage, plateaus) + &held;
    let claim = format!(
        "The {throughput} of {names} stops at {}{pace}, however high the load is: the cause is {cause}",
        loadstone_units::rate(rate)
    );
    let quota = quota(facts);
    let confidence = if quota.ruled_out && passage != Passage::EvenUnseen { Confidence::Medium } else { Confidence::Low };
    let limited = Subject::requests(plateaus.limited.iter().map(|plateau| plateau.name.as_str()));
    let found =
        RankedFinding::new(Standing::Cause, "rate-limit", limited, confidence, claim).with(Quantity::rate("throughput", rate)).with(
            Quantity::count("places", concurrency.slots)
                .within((concurrency.slots - concurrency.half).max(0.0), concurrency.slots + concurrency.half),
        );
    let found = plateaus.limited.iter().fold(found, with_evidence);
    let found = sessions.iter().fold(found, |found, sessions| with_sessions(found, sessions, plateaus));
    let limiter =
        format!("Look for a rate limiter (in a gateway, the service or its clients) that lets {} through", loadstone_units::rate(rate));
    let next = match passage {
        _ if sessions.is_some() => format!(
            "{limiter}, and for a limit of sessions: processes, workers or connections that each session holds until it ends. If shorter pauses in \
             the sessions raise the throughput, it is the latter."
        ),
        Passage::LessThanOne | Passage::Even => format!("{limiter}."),
        Passage::EvenUnseen => {
            format!("{limiter}, and for work that they do one after the other. Start with a lower load to distinguish the two.")
        }
        Passage::Part => format!("{limiter}, and for a lock, a connection or a worker that {names} holds for a part of its time."),
    };
    let cpu = match pace_text(plateaus) {
        _ if cpu.ruled_out => cpu,
        Some(even) if is_shared => {
            Alternative::ruled_out("A saturated CPU, whose throughput would vary with the time of each request", even)
        }
        _ => Alternative::ruled_out(
            "A saturated CPU, which would slow down every request",
            format!("{} other requests remained as fast", plateaus.unaffected.len()),
        ),
    };
    // The connections are the cause, and the rate is their symptom.
    let symptom = found.finding.evidence.len();
    let is_held = facts.constant_connections.as_ref().is_some_and(|held| held.explains_rate);
    let found = if is_held { found.outlining(symptom) } else { found };
    Some(found.weigh(places(passage, plateaus, concurrency)).weigh(cpu).weigh(quota).try_next(next))
}

/// `None`: a number of places explains it.
fn passage(plateaus: &Plateaus, concurrency: SlotEstimate) -> Option<Passage> {
    match concurrency.whole() {
        None if concurrency.most < 1.0 => Some(Passage::LessThanOne),
        None if plateaus.even().is_some() => Some(Passage::Even),
        None => Some(Passage::Part),
        Some(_) if plateaus.paced().is_some() && !concurrency.is_known() => Some(Passage::EvenUnseen),
        Some(_) => None,
    }
}

fn cause(passage: Passage, plateaus: &Plateaus) -> String {
    match (passage, plateaus.limited.as_slice()) {
        (Passage::LessThanOne, _) => "a rate limit that delays".to_owned(),
        (Passage::Even, _) => "a rate limit that delays, or a lock or pool that each holds for the same part of its time".to_owned(),
        (Passage::EvenUnseen, _) => match (plateaus.places_of_equal_times(), plateaus.places_at_most()) {
            (Some(places), _) => format!("a limit of {places:.0} at a time, with equal times, or a rate limit that delays"),
            (None, Some(most)) => format!("a limit of {most:.0} at a time at most, with equal times, or a rate limit that delays"),
            (None, None) => "places that each holds for the same time, or a rate limit that delays".to_owned(),
        },
        // There are fewer than two places, so it is not a pool.
        (Passage::Part, [only]) if plateaus.concurrency().is_one() => format!(
            "a lock that each holds for {} of its {}, or a rate limit that delays",
            loadstone_units::seconds(1.0 / only.high.throughput),
            loadstone_units::seconds(only.low.service)
        ),
        (Passage::Part, [only]) => format!(
            "a lock that each holds for {} of its {}, a pool held for part of that time, or a rate limit that delays",
            loadstone_units::seconds(1.0 / only.high.throughput),
            loadstone_units::seconds(only.low.service)
        ),
        (Passage::Part, _) => "a lock or pool that is held for part of the request, or a rate limit that delays".to_owned(),
    }
}

fn with_evidence(found: RankedFinding, plateau: &Plateau) -> RankedFinding {
    let text = format!(
        "\"{}\": throughput stopped at {} ({} of the requested load) while service times grew from {} to {}",
        plateau.name,
        loadstone_units::rate(plateau.high.throughput),
        loadstone_units::share(plateau.reached),
        loadstone_units::seconds(plateau.low.service),
        loadstone_units::seconds(plateau.high.service)
    );
    found.rests_on_drawn(plateau.evidence(text))
}

/// How many sessions were in progress, which may each hold a place.
fn with_sessions(found: RankedFinding, sessions: &HeldSessions, plateaus: &Plateaus) -> RankedFinding {
    let (number, rate) = (loadstone_units::number, loadstone_units::rate);
    let fast: Vec<&str> = plateaus.unaffected.iter().map(|request| request.name.as_str()).collect();
    let text = format!(
        "{} iterations opened {} connections, and {} did not wait: sessions that took {} under low load, pauses included, ended at {}, {} at a time",
        loadstone_units::count(sessions.iterations),
        loadstone_units::count(sessions.connections),
        named(&fast),
        loadstone_units::seconds(sessions.each_s),
        rate(sessions.rate),
        number(sessions.most())
    );
    found.rests_on(text, vec!["rate/requests".to_owned()], (sessions.from, sessions.to)).weigh(Alternative::not_ruled_out(
        "Places that a session holds from its begin to its end, such as a process, a worker or a connection",
        "only the requests that wait for one would be slow, and no later one",
    ))
}

/// How evenly requests passed; `None` where they did not pass evenly.
fn pace_text(plateaus: &Plateaus) -> Option<String> {
    let pace = plateaus.paced()?;
    let apart = match plateaus.even() {
        Some(_) => format!(", though some take {:.1} times as long as others", plateaus.service_times_apart()),
        None => String::new(),
    };
    Some(format!("{:.1} of them ended per second with a standard deviation of {:.1}{apart}", pace.mean, pace.deviation))
}

/// Whether places that are held for the whole request explain it.
fn places(passage: Passage, plateaus: &Plateaus, concurrency: SlotEstimate) -> Alternative {
    let (low, high) = ((concurrency.slots - concurrency.half).max(0.0), concurrency.slots + concurrency.half);
    let number = loadstone_units::number;
    let slots = format!(
        "throughput × service time without waiting = {} (95 % interval {}–{})",
        number(concurrency.slots),
        number(low),
        number(high)
    );
    match passage {
        Passage::LessThanOne => {
            Alternative::ruled_out("A pool, a lock or workers that are held for a request, which let at least one through at a time", slots)
        }
        Passage::Even => Alternative::ruled_out(
            "A pool, a lock or workers, whose throughput would vary with the time of each request",
            pace_text(plateaus).unwrap_or(slots),
        ),
        Passage::EvenUnseen => Alternative::not_ruled_out(
            "A pool, a lock or workers",
            "the time of a request without waiting is unknown: start with a lower load",
        ),
        Passage::Part => {
            Alternative::ruled_out("A pool, a lock or workers that are held for the whole request: a whole number at a time", slots)
        }
    }
}

/// A CPU quota throttles a process although cores are idle. A throttled control group would be an exhausted resource, which ends the rule earlier.
fn quota(facts: &Facts<'_>) -> Alternative {
    const OTHER: &str = "A CPU quota of the target's control group (a container's limit), which throttles it while cores are idle";
    match facts.signals.parts_with(Role::GroupThrottled).next() {
        Some(group) => Alternative::ruled_out(OTHER, format!("\"{}\" was hardly throttled", group.observer)),
        None => Alternative::not_ruled_out(OTHER, "no control group was observed"),
    }
}
