//! Where the time of a request goes whose time objective failed, for a run in which nothing was limited: the slowest part that was observed.
//!
//! By Little's law, the mean number of requests in a place is the throughput times the time that they spend there. The parts of different observers are
//! therefore
//! compared as shares of the requests in progress: statements that a database executes, calls of stubs, threads in a call. Traces show the parts of the request
//! itself.

use std::collections::BTreeMap;

use loadstone_metrics::{Role, SeriesKind};
use loadstone_plan::{Comparison, Metric};

use crate::facts::Facts;
use crate::facts::called::CalledEndpoint;
use crate::facts::readings::SignalReadings;
use crate::facts::spans;
use crate::{ThresholdResult, ThresholdState};

/// Share of the time in requests from which a part is named.
const PART_SHARE_MIN: f64 = 0.2;
/// States of threads that belong to a request under way.
const THREAD_ROLES: [Role; 5] = [
    Role::ThreadsOnCpu,
    Role::ThreadsWaitingForLock,
    Role::ThreadsWaitingForMember,
    Role::ThreadsWaitingForIo,
    Role::ThreadsWaitingForOther,
];

/// A part of the time in requests.
struct ObservedShare {
    /// Of all, from 0 to 1.
    share: f64,
    /// Continues `of the time in requests …`.
    words: String,
    next: &'static str,
}

/// `None`: each time objective holds.
pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    let failed = facts.objectives.iter().find(|result| result.state == ThresholdState::Failed && is_upper_bound_of_time(result))?;
    let name = slowest(facts, failed)?;
    let times =
        facts.tally.of_kind(SeriesKind::Request).filter(|series| *series.merged.key.name == *name).map(|series| &series.merged.service);
    let (count, sum) = times.fold((0, 0.0), |(count, sum), times| (count + times.count(), sum + times.sum() as f64 / 1e9));
    let takes = format!("\"{name}\" takes {} on average", loadstone_units::seconds(sum / count.max(1) as f64));
    let (share, next) = match of_trace(facts, &name).or_else(|| most(facts)) {
        Some(part) => (format!("{} of the time in requests {}", loadstone_units::share(part.share), part.words), part.next),
        None => {
            ("no observed part accounts for that time".to_owned(), "Observe what it calls, or the stacks of its runtime, and run again.")
        }
    };
    Some(format!("But the objective \"{}\" failed: {takes}, and {share}. {next}", failed.threshold.label))
}

fn is_upper_bound_of_time(result: &ThresholdResult) -> bool {
    let threshold = &result.threshold;
    let is_time = matches!(threshold.metric, Metric::ResponseTime | Metric::ServiceTime | Metric::GroupTime | Metric::IterationTime);
    is_time && matches!(threshold.bound.comparison, Comparison::Below | Comparison::AtMost)
}

/// The request of the objective of which the most took longer than its bound; of an objective of groups or iterations, the one that takes most of the time.
fn slowest(facts: &Facts<'_>, failed: &ThresholdResult) -> Option<String> {
    let (metric, selector) = (&failed.threshold.metric, &failed.threshold.selector);
    let is_of_requests = matches!(metric, Metric::ResponseTime | Metric::ServiceTime);
    let bound = (failed.threshold.bound.value * 1e9) as u64;
    let mut beyond: BTreeMap<&str, f64> = BTreeMap::new();
    for series in facts.tally.of_kind(SeriesKind::Request) {
        let (key, times) = (&series.merged.key, &series.merged.service);
        // Where several scenarios have a request of one name, findings show it with its scenario.
        let is_selected = |name: &str| *key.name == *name || key.name.starts_with(&format!("{name} "));
        if !is_of_requests || selector.name.as_deref().is_none_or(is_selected) {
            let sum = if is_of_requests { (times.count() - times.count_at_or_below(bound)) as f64 } else { times.sum() as f64 };
            *beyond.entry(&key.name).or_default() += sum;
        }
    }
    beyond.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name.to_owned())
}

/// The part of the request's critical path that takes most of its time.
fn of_trace(facts: &Facts<'_>, name: &str) -> Option<ObservedShare> {
    let (span, time, whole) = spans::longest_part(facts.run, name)?;
    let words =
        format!("is spent in the span \"{}\" of \"{}\" itself ({} of each)", span.name, span.service, loadstone_units::seconds(time));
    let share = time / whole;
    (share >= PART_SHARE_MIN).then_some(ObservedShare { share, words, next: "Find what that span does in this time." })
}

/// The largest part that an observer shows; a statement or call before the threads that wait for it.
fn most(facts: &Facts<'_>) -> Option<ObservedShare> {
    let span = facts.strain.loaded()?;
    let in_system = facts.strain.in_system(span.0, span.1).filter(|count| *count > 0.0)?;
    let largest = |parts: Vec<ObservedShare>| {
        parts.into_iter().filter(|part| part.share >= PART_SHARE_MIN).max_by(|a, b| a.share.total_cmp(&b.share))
    };
    let behind: Vec<ObservedShare> = statements(facts, span, in_system).into_iter().chain(calls(facts, span, in_system)).collect();
    largest(behind).or_else(|| largest(threads(facts, span, in_system)))
}

fn statements(facts: &Facts<'_>, (from, to): (f64, f64), in_system: f64) -> Vec<ObservedShare> {
    let each_of = |role: Role| facts.signals.parts_with(role).flat_map(move |part| facts.signals.read_each(part, role));
    let statement = |readings: SignalReadings<'_>, role: Role| {
        let (text, sessions) = (readings.label("statement").filter(|text| !text.is_empty())?, readings.mean(from, to)?);
        let calls = each_of(Role::StatementCalls).filter(|_| role == Role::StatementTime);
        let calls = calls.filter(|calls| calls.signal.observer == readings.signal.observer && calls.label("statement") == Some(text));
        let each = calls.filter_map(|calls| calls.mean(from, to)).find(|rate| *rate > 0.0);
        let each = each.map_or_else(String::new, |rate| format!(" ({} for each execution)", loadstone_units::seconds(sessions / rate)));
        Some(ObservedShare {
            share: (sessions / in_system).min(1.0),
            words: format!("is spent in the statement `{text}` of \"{}\"{each}", readings.signal.observer),
            next: "Look up its plan (`EXPLAIN`): a missing index, or rows that it does not need.",
        })
    };
    let of_role = |role: Role| each_of(role).filter_map(|readings| statement(readings, role)).collect::<Vec<_>>();
    let timed = of_role(Role::StatementTime);
    if timed.is_empty() { of_role(Role::SessionsByStatement) } else { timed }
}

fn calls(facts: &Facts<'_>, (from, to): (f64, f64), in_system: f64) -> Vec<ObservedShare> {
    let call = |endpoint: &CalledEndpoint<'_>| {
        let in_progress = endpoint.in_flight.as_ref()?.mean(from, to)?;
        let words = format!("is spent in calls of \"{}\"", endpoint.name);
        Some(ObservedShare {
            share: (in_progress / in_system).min(1.0),
            words,
            next: "Call it less often or in parallel, or find out why it takes so long.",
        })
    };
    facts.called.iter().filter_map(call).collect()
}

fn threads(facts: &Facts<'_>, (from, to): (f64, f64), in_system: f64) -> Vec<ObservedShare> {
    let mut places: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for role in THREAD_ROLES {
        for part in facts.signals.parts_with(role) {
            for readings in facts.signals.read_each(part, role) {
                let at = readings.label("at").unwrap_or_default();
                *places.entry((part.observer, at)).or_default() += readings.mean(from, to).unwrap_or(0.0);
            }
        }
    }
    // More threads than requests belong to other work.
    let of_requests = places.into_iter().filter(|((_, at), count)| !at.is_empty() && *count <= in_system);
    let place = |((observer, at), count): ((&str, &str), f64)| ObservedShare {
        share: count / in_system,
        words: format!("is spent by threads of \"{observer}\" in `{at}`"),
        next: "Find what that call waits for or computes.",
    };
    of_requests.map(place).collect()
}
