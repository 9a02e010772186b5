//! Changes during the run, as rows that pages and other tools can draw.

use loadstone_metrics::SeriesKind;

use crate::facts::Facts;
use crate::facts::changes::{Change, Shape};
use crate::facts::signal_moves;
use crate::facts::timeline::TimelineOf;
use crate::{ChangeRow, ChangedThing};

/// The maximum number of signals that are listed for a change.
const SIGNALS_MAX: usize = 5;
const ROWS_MAX: usize = 50;

pub(crate) fn of(facts: &Facts<'_>) -> Vec<ChangeRow> {
    let mut rows: Vec<ChangeRow> = facts.changes.found.iter().chain(&facts.changes.warm_ups).map(of_times).collect();
    rows.extend(facts.failing.iter().filter_map(|failing| {
        let at = failing.when.onset()?;
        let (failed, count) = failing.while_failing;
        let before = (failing.failed - failed) as f64 / (failing.count - count).max(1) as f64;
        Some(ChangeRow {
            of: changed_thing(Some(failing.key.kind)),
            scenario: failing.key.scenario.to_string(),
            group: failing.key.group.to_string(),
            name: failing.key.name.to_string(),
            metric: "failures.share".to_owned(),
            at_seconds: at,
            at_error_seconds: 0.0,
            until_seconds: None,
            before,
            after: failing.share(),
            samples_before: failing.count - count,
            samples_after: count,
        })
    }));
    let instants: Vec<(f64, f64, f64)> = facts.changes.found.iter().map(|change| (change.at, change.from, change.to)).take(1).collect();
    for (at, from, to) in instants {
        let moved = signal_moves::around(&facts.run.signals, at, from, to).into_iter().filter(signal_moves::SignalMove::has_moved);
        rows.extend(moved.take(SIGNALS_MAX).map(|moved| ChangeRow {
            of: ChangedThing::Signal,
            scenario: String::new(),
            group: String::new(),
            name: moved.signal.name.clone(),
            metric: "value.p50".to_owned(),
            at_seconds: at,
            at_error_seconds: 1.0,
            until_seconds: None,
            before: moved.before,
            after: moved.after,
            samples_before: moved.readings.0,
            samples_after: moved.readings.1,
        }));
    }
    rows.truncate(ROWS_MAX);
    rows
}

fn of_times(change: &Change) -> ChangeRow {
    let (metric, before, after) = match change.shape {
        Shape::Part { .. } => ("service.mean", change.before.mean, change.after.mean),
        Shape::Step | Shape::Drift => ("service.p50", change.before.median, change.after.median),
    };
    let key = match &change.of {
        TimelineOf::Series(key) => Some(key),
        TimelineOf::Flow(_) => None,
    };
    ChangeRow {
        of: changed_thing(change.of.kind()),
        scenario: key.map_or_else(String::new, |key| key.scenario.to_string()),
        group: key.map_or_else(String::new, |key| key.group.to_string()),
        name: change.of.name().to_owned(),
        metric: metric.to_owned(),
        at_seconds: change.at,
        at_error_seconds: change.at_error,
        until_seconds: change.until,
        before,
        after,
        samples_before: change.before.count,
        samples_after: change.after.count,
    }
}

fn changed_thing(kind: Option<SeriesKind>) -> ChangedThing {
    match kind {
        Some(SeriesKind::Group) => ChangedThing::Group,
        Some(SeriesKind::Iteration) => ChangedThing::Scenario,
        Some(SeriesKind::Request | SeriesKind::Check) => ChangedThing::Request,
        None => ChangedThing::Flow,
    }
}
