//! A queue that grows under constant load while requests are still fast, or that had grown before requests began to wait.
//!
//! If more work arrives than ends, a queue grows without bound (Kleinrock, *Queueing Systems*, 1975). The rule examines work for a runtime's threads, jobs in
//! queues, and operations that wait for a pool.
//!
//! | condition | limit |
//! |---|---|
//! | constant load before anything waited | {growing::LENGTH_MIN_S} s and {growing::READINGS_MIN} readings |
//! | growth | its 95 % interval is above zero; {growing::RISES_MIN} of 7 steps between eighths rise; it does not level off |
//! | length at the end | {growing::FINAL_LENGTH_MIN}, and {growing::GROWTH_FACTOR_MIN} times that of the first eighth |
//!
//! | finding | condition | confidence |
//! |---|---|---|
//! | `late-onset` | requests began to wait after it; the queue had {SURE_QUEUE_PART_MIN:%} of the requests in the system | high |
//! | `late-onset` | the same with a shorter queue | medium |
//! | `late-onset` | {growing::STUCK_REQUESTS_MIN} requests that ended after the load took {growing::STUCK_FACTOR_MIN} times as long as any before | medium |
//! | `growing-backlog` | requests did not wait, nor journeys for {WAITING_JOURNEYS_PART_MIN:%} of the time: the run is too short | high |
//!
//! The rule cannot distinguish a queue that requests will wait for from one that only takes memory; a longer run can.

use crate::Confidence;
use crate::facts::Facts;
use crate::facts::growing::{GrowingBacklog, StuckRequests};
use crate::finding::Alternative;
use crate::finding::ranked::{RankedFinding, Standing};
use crate::finding::rule::{Example, FindingSearch, Rule};
use crate::finding::{Quantity, Subject};
use crate::instant::clock;

/// Length of the queue, as a part of the requests in the system, from which the confidence is high.
const SURE_QUEUE_PART_MIN: f64 = 0.5;
/// Length of the run that is advised, as a multiple of the time in which the queue grew.
const ADVISED_RUN_FACTOR: f64 = 5.0;
/// And at least. Seconds.
const ADVISED_RUN_MIN_S: f64 = 600.0;
/// Part of the time in which a queue grew, from which waiting journeys already show that the system does not carry the load.
const WAITING_JOURNEYS_PART_MIN: f64 = 0.5;

pub(super) const RULE: Rule = Rule {
    ids: &["late-onset", "growing-backlog"],
    page: "late-onset",
    title: "A queue grows before requests wait",
    says: "a queue grows while requests are still fast, or requests wait only after it has grown",
    example: Example {
        run: "examples/filling-up",
        claim: "Requests wait from 1:58 on, after 1 min 57 s at the same load: by then 4,642 look-ups of names had piled up in \"node:80\"",
    },
    needs: &["prometheus"],
    settings: &[],
    precedence: 90,
    find: FindingSearch::One(find),
};

fn find(facts: &Facts<'_>) -> Option<RankedFinding> {
    // Why a queue of jobs grows is known if all its workers are busy.
    let is_explained = |backlog: &&GrowingBacklog<'_>| facts.queue_workers.as_ref().is_some_and(|busy| busy.series.contains(&backlog.series));
    let backlog = facts.growing.iter().find(|backlog| !is_explained(backlog))?;
    match backlog.onset {
        Some(onset) => late_onset(facts, backlog, onset),
        None if is_seen_waiting(facts, backlog) => None,
        None => Some(match backlog.stuck {
            Some(stuck) => stuck_behind(backlog, stuck),
            None => too_short(facts, backlog),
        }),
    }
}

/// Whether journeys wait meanwhile, in this queue or another. The run was then long enough to show that the system does not carry the load.
fn is_seen_waiting(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>) -> bool {
    let shared =
        |from: f64, to: f64| to.min(backlog.to) - from.max(backlog.from) >= WAITING_JOURNEYS_PART_MIN * (backlog.to - backlog.from);
    facts.waiting.iter().any(|waiting| waiting.flow.is_some() && waiting.is_unstable() && shared(waiting.from, waiting.to))
}

/// Requests remained fast until the queue had grown.
fn late_onset(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>, onset: f64) -> Option<RankedFinding> {
    let waiting = facts.waiting.iter().find(|waiting| waiting.flow.is_none() && waiting.from == onset)?;
    let in_system = facts.strain.in_system(onset, waiting.to)?;
    let confidence = if backlog.last >= SURE_QUEUE_PART_MIN * in_system { Confidence::High } else { Confidence::Medium };
    let text =
        format!("{} requests were in the system on average from then on, {} before", number(in_system), before(facts, backlog, onset));
    let found = waits_from(backlog, onset, confidence).rests_on(text, waiting.columns(), (onset, waiting.to));
    Some(found.beyond_the_generator(facts, (onset, waiting.to)))
}

/// Requests begin to wait as the load ends: no second of it is slow, and the last requests take far longer than any before.
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
        .with(Quantity::seconds("onset", onset))
        .with(Quantity::seconds("constant_load", onset - backlog.from))
        .weigh(Alternative::ruled_out("More load", format!("it was the same from {} on", clock(backlog.from))))
        .try_next(format!(
            "Reduce the {0}, or speed them up, until no more arrive than end: cache results that do not change, and share one between many \
             requests. A run shorter than {1} cannot show this.",
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

/// No request waits yet.
fn too_short(facts: &Facts<'_>, backlog: &GrowingBacklog<'_>) -> RankedFinding {
    let length = backlog.to - backlog.from;
    let wanted = f64::max(ADVISED_RUN_FACTOR * length, ADVISED_RUN_MIN_S);
    let then = backlog.last + backlog.growth.0 * (wanted - length).max(0.0);
    let claim = format!(
        "This run is too short to show that the system carries the load: {} {} have piled up in \"{}\", {} more each second, while requests remain fast",
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
                    "after another {} the wait is {}, the time limit of a request",
                    loadstone_units::seconds(left),
                    loadstone_units::seconds(limit)
                )
            }
            _ => format!("a request that needs one now reaches its time limit of {}", loadstone_units::seconds(limit)),
        };
        let text = format!(
            "{} end per second, so the last one waits {} in the queue (Little's law), {} longer each second: {reached}",
            loadstone_units::number(done),
            loadstone_units::seconds(wait),
            loadstone_units::seconds(slower)
        );
        found = found.rests_on(text, vec![backlog.series.clone()], (backlog.from, backlog.to));
    }
    found.try_next(format!(
        "Run for {} at the same load, which gives {} at this growth: either requests begin to wait, or only memory grows. Or reduce the {} until no \
         more arrive than end.",
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
    found
        .with(Quantity::count("backlog", backlog.last))
        .with(Quantity::rate("growth", growth).within(growth - half, growth + half))
        .rests_on(text, vec![backlog.series.clone()], (backlog.from, backlog.to))
}
