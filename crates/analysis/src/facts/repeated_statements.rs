//! Statements of a database that come as iterations of the load do, and how often for each.

use std::ops::RangeInclusive;

use metrics::{LeafSlice, Role, SignalPoint, Snapshot};
use run_directory::{Run, SignalSeries};

/// Iterations that are needed to count them.
const ITERATIONS_MIN: u64 = 20;
/// Executions that the number for each iteration explains, over those that there were: outside of this they do not come as iterations do.
const EXPLAINED: RangeInclusive<f64> = 0.8..=1.25;

/// A statement and what it costs.
pub(crate) struct RepeatedStatement<'a> {
    pub(crate) statement: &'a str,
    pub(crate) series: String,
    /// Executions for each iteration.
    pub(crate) each: f64,
    /// Executions per second, over the whole stretch.
    pub(crate) rate: f64,
    /// The database's own time for one of them, without what it waits for at commit. Seconds.
    pub(crate) took_s: Option<f64>,
    pub(crate) stretch: (f64, f64),
}

impl RepeatedStatement<'_> {
    pub(crate) fn begins_with(&self, words: &str) -> bool {
        self.statement.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
    }
}

pub(super) fn find(run: &Run) -> Vec<RepeatedStatement<'_>> {
    of_role(run, Role::StatementCalls).filter_map(|calls| repeated(run, calls)).collect()
}

fn of_role(run: &Run, role: Role) -> impl Iterator<Item = &SignalSeries> {
    run.signals.iter().filter(move |series| series.signal.role == Some(role))
}

fn repeated<'a>(run: &'a Run, calls: &'a SignalSeries) -> Option<RepeatedStatement<'a>> {
    let statement = calls.signal.label_value("statement")?;
    let points = grown(calls);
    let stretch = (points.first()?.0, points.last()?.0);
    let executed = points.last()?.1;
    // Where work piles up, fewer have been executed than iterations have begun.
    let as_they_come = |of: fn(&LeafSlice) -> u64| per_iteration(run, &points, of).filter(|(_, explained)| EXPLAINED.contains(explained));
    let (each, _) = as_they_come(|leaf| leaf.started).or_else(|| as_they_come(|leaf| leaf.ended))?;
    let is_its_time =
        |times: &&SignalSeries| times.signal.observer == calls.signal.observer && times.signal.label_value("statement") == Some(statement);
    let took_s = of_role(run, Role::StatementTime).find(is_its_time).and_then(|times| Some(grown(times).last()?.1 / executed.max(1.0)));
    let rate = executed / (stretch.1 - stretch.0).max(1.0);
    let name = calls.signal.name.clone();
    Some(RepeatedStatement { statement, series: name, each, rate, took_s, stretch })
}

/// How much a counter had grown since its first reading, at each of its readings; `(seconds since the run began, growth)`.
fn grown(counter: &SignalSeries) -> Vec<(f64, f64)> {
    let mut total = 0.0;
    let at = |point: &SignalPoint| point.at as f64 / 1e9;
    let step = |pair: &[SignalPoint]| {
        // One that was set back says nothing of what it had counted.
        total += (pair[1].value - pair[0].value).max(0.0);
        (at(&pair[1]), total)
    };
    let first = counter.points.first().map(|point| (at(point), 0.0));
    first.into_iter().chain(counter.points.windows(2).map(step)).collect()
}

/// Executions for each iteration that was counted meanwhile; and the slope of the one over the other (least squares), as a part of that: 1 where they come as
/// iterations do. `None`: too few iterations.
fn per_iteration(run: &Run, executed: &[(f64, f64)], count_of: fn(&LeafSlice) -> u64) -> Option<(f64, f64)> {
    let counted = |slice: &Snapshot| slice.leaves.iter().map(count_of).sum::<u64>();
    let mut slices = run.slices.iter().peekable();
    let mut iterations = 0;
    let points: Vec<(f64, f64)> = executed
        .iter()
        .map(|(at, total)| {
            while let Some(slice) = slices.next_if(|slice| slice.end as f64 / 1e9 <= at + 0.5) {
                iterations += counted(slice);
            }
            (iterations as f64, *total)
        })
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    if last.0 - first.0 < ITERATIONS_MIN as f64 || last.1 <= first.1 {
        return None;
    }
    let each = (last.1 - first.1) / (last.0 - first.0);
    let count = points.len() as f64;
    let (x, y) = (points.iter().map(|point| point.0).sum::<f64>() / count, points.iter().map(|point| point.1).sum::<f64>() / count);
    let (mut covariance, mut variance) = (0.0, 0.0);
    for point in &points {
        covariance += (point.0 - x) * (point.1 - y);
        variance += (point.0 - x).powi(2);
    }
    Some((each, covariance / variance.max(1e-9) / each))
}
