//! A queue that grows while the load stays the same: what had filled up when requests began to wait, or that a run was too short to know.
//!
//! *Requests wait from 2:03 on, after 110 s at the same load: by then 15,400 look-ups of names had piled up in "decisions 1".*
//!
//! Where more comes than is done, a queue grows without end (Kleinrock, *Queueing Systems*, 1975), and requests that do not wait for it stay as fast as
//! they were, until something that they need stands in it. What is looked at: work given to a runtime's threads, jobs of queues, those who wait for a
//! member of a pool.
//!
//! | what | limit |
//! |---|---|
//! | the same load, before anything waited | 35 s and 24 readings |
//! | growth | its 95 % interval lies above zero, in 6 of the 7 steps between eighths of that time, and the second half has at least half of the first's |
//! | length at the end | 50, and 3 times that of the first eighth |
//!
//! `late-onset` is made where requests began to wait afterwards; with high confidence if half as much had piled up as requests were in the system then.
//! It is made with medium confidence where no second of the load was slow, but ten requests or more that ended after it took a second and five times as
//! long as any before. `growing-backlog` is made where they did not wait, nor any journey for most of that time: the run cannot say that the load is
//! carried. Where the test's own name server answered, the wait in the queue follows by Little's law, and when it reaches the time limit of a request.

use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::Confidence;
use crate::facts::Facts;
use crate::finding::Subject;
use crate::finding::rule::{FindingSearch, Rule};
use crate::facts::growing::{GrowingBacklog, StuckRequests};
use crate::instant::clock;

/// Part of what was in the system that must have piled up for it to be what the requests wait for.
const OF_SYSTEM_SURE: f64 = 0.5;
/// How much longer a run should be that was too short, and for how long at least. Seconds.
const LONGER: f64 = 5.0;
const LONG_MIN_S: f64 = 600.0;
/// Part of the time in which a queue grew that journeys must have waited for it to be theirs.
const SEEN_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["late-onset", "growing-backlog"],
    title: "Work piles up before it hurts",
    says: "a queue grows while requests are still fast, or requests wait only after it has grown",
    needs: &["prometheus"],
    settings: &[],
    precedence: 90,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    let backlog = facts.growing.first()?;
    match backlog.onset {
        Some(onset) => late_onset(facts, backlog, onset),
        None if is_seen_waiting(facts, backlog) => None,
        None => Some(match backlog.stuck {
            Some(stuck) => stuck_behind(backlog, stuck),
            None => too_short(facts, backlog),
        }),
    }
}

/// Journeys pile up meanwhile: the run was long enough to see that the load is not carried, whether they wait in this queue or another.
fn is_seen_waiting(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>) -> bool {
    let shared = |from: f64, to: f64| to.min(backlog.to) - from.max(backlog.from) >= SEEN_MIN * (backlog.to - backlog.from);
    facts.waiting.iter().any(|waiting| waiting.flow.is_some() && waiting.is_unstable() && shared(waiting.from, waiting.to))
}

/// Requests were as fast as ever until something had piled up.
fn late_onset(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>, onset: f64) -> Option<RankedFinding> {
    let waiting = facts.waiting.iter().find(|waiting| waiting.flow.is_none() && waiting.from == onset)?;
    let in_system = facts.strain.in_system(onset, waiting.to)?;
    let confidence = if backlog.last >= OF_SYSTEM_SURE * in_system { Confidence::High } else { Confidence::Medium };
    let text =
        format!("{} requests were in the system on average from then on, {} before", number(in_system), before(facts, backlog, onset));
    let found = waits_from(backlog, onset, confidence).rests_on(text, waiting.columns(), (onset, waiting.to));
    Some(found.beyond_the_generator(facts, (onset, waiting.to)))
}

/// Requests begin to wait as the load ends: no second of it is slow, and the last of them take far longer than any before.
fn stuck_behind(backlog: &GrowingBacklog<'_>, stuck: StuckRequests) -> RankedFinding {
    let text = format!(
        "{} that began from then on took up to {}, ending after the load; until then none took longer than {}",
        loadstone_units::counted(stuck.count, "request"),
        loadstone_units::seconds(stuck.longest),
        loadstone_units::seconds(stuck.before)
    );
    let span = (stuck.from, stuck.from + stuck.longest);
    waits_from(backlog, stuck.from, Confidence::Medium).rests_on(text, vec!["response/max".to_owned()], span)
}

fn waits_from(backlog: &GrowingBacklog<'_>, onset: f64, confidence: Confidence) -> RankedFinding {
    let claim = format!(
        "Requests wait from {} on, after {} at the same load: by then {} {} had piled up in \"{}\"",
        clock(onset),
        loadstone_units::seconds(onset - backlog.from),
        loadstone_units::count(backlog.last.round() as u64),
        backlog.what,
        backlog.observer
    );
    grew(RankedFinding::new(Standing::Cause, "late-onset", Subject::part(backlog.observer, &backlog.what), confidence, claim), backlog)
        .weigh(Alternative::ruled_out("More load", format!("it was the same from {} on", clock(backlog.from))))
        .try_next(format!(
            "Have fewer {0} made, or each done faster, until no more come than are done: remember what does not change for as long as it may be \
             believed, and make one for many requests. A run shorter than {1} cannot show it.",
            backlog.what,
            loadstone_units::seconds(onset)
        ))
}

fn before(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>, onset: f64) -> String {
    facts.strain.in_system(backlog.from, onset).map_or_else(|| "none".to_owned(), number)
}

fn number(value: f64) -> String {
    loadstone_units::number(value)
}

/// Nothing waits yet.
fn too_short(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>) -> RankedFinding {
    let length = backlog.to - backlog.from;
    let wanted = f64::max(LONGER * length, LONG_MIN_S);
    let then = backlog.last + backlog.growth.0 * (wanted - length).max(0.0);
    let claim = format!(
        "This run is too short to say that the load is carried: {} {} have piled up in \"{}\", {} more each second, while requests are as fast as ever",
        loadstone_units::count(backlog.last.round() as u64),
        backlog.what,
        backlog.observer,
        loadstone_units::number(backlog.growth.0)
    );
    let subject = Subject::part(backlog.observer, &backlog.what);
    let mut found = grew(RankedFinding::new(Standing::Fault, "growing-backlog", subject, Confidence::High, claim), backlog);
    if let Some((wait, done)) = backlog.wait().zip(backlog.done) {
        let limit = facts.run.plan.options.request_timeout_ns as f64 / 1e9;
        let slower = backlog.growth.0 / done;
        let reached = match (limit - wait) / slower {
            left if left > 0.0 => {
                format!(
                    "in another {} that is {}, the time limit of a request",
                    loadstone_units::seconds(left),
                    loadstone_units::seconds(limit)
                )
            }
            _ => format!("a request that needs one now runs into its time limit of {}", loadstone_units::seconds(limit)),
        };
        let text = format!(
            "{} are done per second, so the last of them waits {} for its turn (Little's law), {} longer each second: {reached}",
            loadstone_units::number(done),
            loadstone_units::seconds(wait),
            loadstone_units::seconds(slower)
        );
        found = found.rests_on(text, vec![backlog.series.clone()], (backlog.from, backlog.to));
    }
    found.try_next(format!(
        "Run for {} at the same load, where it comes to {} at this growth: either requests begin to wait for it, or memory alone grows. Or have no more {} \
         come than are done, and see it level.",
        loadstone_units::seconds(wanted),
        loadstone_units::count(then.round() as u64),
        backlog.what
    ))
}

fn grew(found: RankedFinding, backlog: &GrowingBacklog<'_>) -> RankedFinding {
    let (growth, half) = backlog.growth;
    let text = format!(
        "{} grew by {} per second (95 % interval {} to {}) from {} to {}, at the same load",
        backlog.series,
        loadstone_units::number(growth),
        loadstone_units::number(growth - half),
        loadstone_units::number(growth + half),
        clock(backlog.from),
        clock(backlog.to)
    );
    found.rests_on(text, vec![backlog.series.clone()], (backlog.from, backlog.to))
}
