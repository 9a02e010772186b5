//! Requests that are held back, but not so many at a time: a limiter that delays, or what is held for a part of the request.
//!
//! Below one slot, no pool explains that: even a single place, held for the whole service time, lets more through. From one on, k places that are held
//! for a share *s* of the service time let as many through as k/s slots (utilisation law), which need not be whole: then both are said.

use loadstone_metrics::Role;

use crate::finding::Alternative;
use crate::evidence::examined;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::plateau::{Plateau, Plateaus, SlotEstimate};
use crate::{Confidence, Grade};

/// What lets so many through, going by how they come.
#[derive(Clone, Copy, PartialEq)]
enum Passage {
    /// Fewer than one place would let through.
    LessThanOne,
    /// As many a second whatever each takes.
    Even,
    /// Evenly, but how long one takes alone was not seen.
    EvenUnseen,
    /// At no whole number of places.
    Part,
}

pub(super) const RULE: Rule = Rule {
    ids: &["rate-limit"],
    title: "A rate limit delays",
    says: "requests are let through at an even rate",
    needs: &[],
    settings: &["rate", "limit", "quota"],
    precedence: 230,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let plateaus = &facts.plateaus;
    let (from, to) = plateaus.span()?;
    let concurrency = plateaus.concurrency();
    let cpu = examined::cpu(facts, from, to);
    let is_other = facts.saturated_link.is_some()
        || facts.slow_connects.is_some()
        || facts.used_up().next().is_some()
        || facts.session_wait.as_ref().is_some_and(|wait| wait.holds_up)
        || !facts.pools.is_empty()
        || facts.busy_sessions.is_some()
        || facts.runtime_queue.as_ref().is_some_and(|queue| queue.is_limit(plateaus));
    // As many that kept their times as there are others rule out the processor; so does one that was seen to be idle, or an even pace.
    let is_shared = plateaus.unaffected.len() < plateaus.limited.len() + plateaus.grown && !cpu.ruled_out;
    let passage = passage(plateaus, concurrency)?;
    // Others that wait as well may hold what these wait for: then these are only a part of what passes.
    let is_a_part = plateaus.grown > 0 && plateaus.paced().is_none();
    if is_other || is_a_part || (is_shared && plateaus.paced().is_none()) || facts.generator.grade() == Grade::Invalid {
        return None;
    }
    let names = plateaus.names();
    let rate: f64 = plateaus.limited.iter().map(|plateau| plateau.high.throughput).sum();
    let pace = if plateaus.paced().is_some() { ", at an even pace" } else { "" };
    let stop = if plateaus.limited.len() == 1 { "stops" } else { "stop together" };
    let what = what(passage, plateaus);
    let claim = format!("{names} {stop} at {}{pace}, however much is asked: {what} is in the way", loadstone_units::rate(rate));
    let quota = quota(facts);
    let confidence = if quota.ruled_out && passage != Passage::EvenUnseen { Confidence::Medium } else { Confidence::Low };
    let limited = Subject::requests(plateaus.limited.iter().map(|plateau| plateau.name.as_str()));
    let found = RankedFinding::new(Standing::Cause, "rate-limit", limited, confidence, claim);
    let found = plateaus.limited.iter().fold(found, with_evidence);
    let limiter = format!(
        "Look for a limiter in the way (a gateway, the service itself, a client of its own) that lets {} through",
        loadstone_units::rate(rate)
    );
    let next = match passage {
        Passage::LessThanOne | Passage::Even => format!("{limiter}."),
        Passage::EvenUnseen => {
            format!("{limiter}, and for what all of them do one after the other. Start with less load to tell them apart.")
        }
        Passage::Part => format!("{limiter}, and for a lock, a connection or a worker that {names} holds for a part of its time."),
    };
    let cpu = match pace_text(plateaus) {
        _ if cpu.ruled_out => cpu,
        Some(even) if is_shared => Alternative::ruled_out("A saturated CPU, which gives each request the time that it takes", even),
        _ => Alternative::ruled_out(
            "A saturated CPU would slow everything down",
            format!("{} others kept their times", plateaus.unaffected.len()),
        ),
    };
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

fn what(passage: Passage, plateaus: &Plateaus) -> String {
    match (passage, plateaus.limited.as_slice()) {
        (Passage::LessThanOne, _) => "a rate limit that delays".to_owned(),
        (Passage::Even, _) => "a rate limit that delays, or a lock or pool that each holds for the same part of its time,".to_owned(),
        (Passage::EvenUnseen, _) => match (plateaus.places_of_equal_times(), plateaus.places_at_most()) {
            (Some(places), _) => format!("{places:.0} at a time, which all take the same time, or a rate limit that delays,"),
            (None, Some(most)) => format!("{most:.0} at a time at most, which all take the same time, or a rate limit that delays,"),
            (None, None) => "places that each holds for the same time, or a rate limit that delays,".to_owned(),
        },
        // There are not two places, so it is no pool.
        (Passage::Part, [only]) if plateaus.concurrency().is_one() => format!(
            "a lock that each holds for {} of its {}, or a rate limit that delays,",
            loadstone_units::seconds(1.0 / only.high.throughput),
            loadstone_units::seconds(only.low.service)
        ),
        (Passage::Part, [only]) => format!(
            "a lock that each holds for {} of its {} (or a pool, held for a part of them), or a rate limit that delays,",
            loadstone_units::seconds(1.0 / only.high.throughput),
            loadstone_units::seconds(only.low.service)
        ),
        (Passage::Part, _) => "a lock or pool that is held for a part of the request, or a rate limit that delays,".to_owned(),
    }
}

fn with_evidence(found: RankedFinding, plateau: &Plateau) -> RankedFinding {
    let text = format!(
        "\"{}\": throughput stopped at {} ({} of what the load asked for) while service times grew from {} to {}",
        plateau.name,
        loadstone_units::rate(plateau.high.throughput),
        loadstone_units::share(plateau.reached),
        loadstone_units::seconds(plateau.low.service),
        loadstone_units::seconds(plateau.high.service)
    );
    found.rests_on(text, vec!["rate/asked".to_owned(), "rate/requests".to_owned()], (plateau.high.from, plateau.high.to))
}

/// How evenly they passed; `None` where they did not.
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
    let slots = format!("throughput × service time without waiting = {:.1} (95 % interval {low:.1}–{high:.1})", concurrency.slots);
    match passage {
        Passage::LessThanOne => Alternative::ruled_out("A pool, a lock or workers, which let at least one through at a time", slots),
        Passage::Even => Alternative::ruled_out(
            "A pool, a lock or workers, which give each request the time that it takes",
            pace_text(plateaus).unwrap_or(slots),
        ),
        Passage::EvenUnseen => {
            Alternative::not_ruled_out("A pool, a lock or workers", "how long a request takes alone was not seen: start with less load")
        }
        Passage::Part => {
            Alternative::ruled_out("A pool, a lock or workers that are held for the whole request: a whole number at a time", slots)
        }
    }
}

/// Under a quota a process is held back with cores to spare. Were its control group throttled, it would be among what is used up.
fn quota(facts: &Facts<'_>) -> Alternative {
    const OTHER: &str = "A CPU quota of the target's control group (a container's limit), which holds it back while it uses little";
    match facts.signals.parts_with(Role::GroupThrottled).next() {
        Some(group) => Alternative::ruled_out(OTHER, format!("\"{}\" was hardly throttled", group.observer)),
        None => Alternative::not_ruled_out(OTHER, "no control group was observed"),
    }
}
