//! Database statements whose number follows the number of iterations, or of one request, and how often each of those executes them.

use std::ops::RangeInclusive;

use loadstone_metrics::{LeafSlice, Role, SeriesKey, SeriesKind, SignalPoint, Snapshot};
use loadstone_run_directory::{Run, SignalSeries};

use crate::RunTally;
use crate::statistics::LeastSquaresLine;

/// Iterations or requests that the number of executions for each of them needs.
const COUNTED_MIN: u64 = 20;
/// Slope of executions over iterations, as a multiple of their ratio. Outside of this range, executions do not follow iterations.
const SLOPE_PER_RATIO: RangeInclusive<f64> = 0.8..=1.25;
/// Stretches into which the readings are joined, to see which rate the executions follow.
const STRETCHES: usize = 12;
/// And how many there must be.
const STRETCHES_MIN: usize = 6;
/// Unexplained variance of a request as a part of that of iterations, up to which executions follow the request.
const UNEXPLAINED_PART_MAX: f64 = 0.25;
/// Part of the variance of executions that a request must explain.
const EXPLAINED_MIN: f64 = 0.9;
/// Coefficient of variation of the request's own rate. A constant rate would explain any other.
const REQUEST_VARIATION_MIN: f64 = 0.2;
/// Part by which the ratio of all executions to all requests may differ from the slope where the executions belong to that request alone. The ratio is then
/// the more certain number.
const RATIO_SLOPE_WITHIN: f64 = 0.05;

/// A statement, how often it is executed, and its time.
pub(crate) struct RepeatedStatement<'a> {
    /// `None`: all statements together, where the database does not distinguish them.
    pub(crate) statement: Option<&'a str>,
    pub(crate) observer: &'a str,
    pub(crate) series: String,
    pub(crate) comes_with: ComesWith,
    /// Executions for each iteration or request.
    pub(crate) each: f64,
    /// Executions per second, over the whole stretch.
    pub(crate) rate: f64,
    /// The database's own time for one execution, without waiting at commit. Seconds.
    pub(crate) took_s: Option<f64>,
    /// The stretch that was examined. Seconds since the run began.
    pub(crate) stretch: (f64, f64),
}

/// What the number of executions follows.
pub(crate) enum ComesWith {
    Iterations,
    /// The request with this name.
    Request(String),
}

impl RepeatedStatement<'_> {
    /// `iteration of the load`, or the request's name.
    pub(crate) fn whole(&self) -> String {
        match &self.comes_with {
            ComesWith::Iterations => "iteration of the load".to_owned(),
            ComesWith::Request(name) => format!("\"{name}\""),
        }
    }

    /// Whether it only reads.
    pub(crate) fn is_asking(&self) -> bool {
        self.statement.is_none() || self.begins_with("select ") || self.begins_with("with ")
    }

    pub(crate) fn begins_with(&self, words: &str) -> bool {
        self.statement.is_some_and(|text| text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words)))
    }
}

pub(super) fn find<'a>(run: &'a Run, tally: &RunTally) -> Vec<RepeatedStatement<'a>> {
    let keys: Vec<&SeriesKey> = tally.of_kind(SeriesKind::Request).map(|series| &series.merged.key).collect();
    let is_distinguished = |observer: &str| of_role(run, Role::StatementCalls).any(|calls| calls.signal.observer == observer);
    let totals = of_role(run, Role::Statements).filter(|total| !is_distinguished(&total.signal.observer));
    of_role(run, Role::StatementCalls).chain(totals).filter_map(|calls| repeated(run, &keys, calls)).collect()
}

fn of_role(run: &Run, role: Role) -> impl Iterator<Item = &SignalSeries> {
    run.signals.iter().filter(move |series| series.signal.role == Some(role))
}

fn repeated<'a>(run: &'a Run, keys: &[&SeriesKey], calls: &'a SignalSeries) -> Option<RepeatedStatement<'a>> {
    let statement = calls.signal.label_value("statement");
    let points = grown(calls);
    let stretch = (points.first()?.0, points.last()?.0);
    let executed = points.last()?.1;
    let (comes_with, each) = match with_a_request(run, keys, &points) {
        Some((name, line)) => {
            let is_all_its_own = statement.is_some() && (line.ratio - line.slope).abs() <= RATIO_SLOPE_WITHIN * line.slope;
            (ComesWith::Request(name), if is_all_its_own { line.ratio } else { line.slope })
        }
        // The statements of all clients include the observer's own, which follow nothing.
        None if statement.is_none() => return None,
        None => (ComesWith::Iterations, with_iterations(run, &points)?),
    };
    let is_its_time = |times: &&SignalSeries| {
        statement.is_some() && times.signal.observer == calls.signal.observer && times.signal.label_value("statement") == statement
    };
    let took_s = of_role(run, Role::StatementTime).find(is_its_time).and_then(|times| Some(grown(times).last()?.1 / executed.max(1.0)));
    let rate = executed / (stretch.1 - stretch.0).max(1.0);
    let (observer, series) = (&*calls.signal.observer, calls.signal.name.clone());
    Some(RepeatedStatement { statement, observer, series, comes_with, each, rate, took_s, stretch })
}

/// The growth of a counter since its first reading, at each of its readings, as `(seconds since the run began, growth)`.
fn grown(counter: &SignalSeries) -> Vec<(f64, f64)> {
    let mut total = 0.0;
    let at = |point: &SignalPoint| point.at as f64 / 1e9;
    let step = |pair: &[SignalPoint]| {
        // A counter that was reset counts from there on.
        total += (pair[1].value - pair[0].value).max(0.0);
        (at(&pair[1]), total)
    };
    let first = counter.points.first().map(|point| (at(point), 0.0));
    first.into_iter().chain(counter.points.windows(2).map(step)).collect()
}

/// At each reading, what had been counted of the load by then, and the executions until then.
fn counts_at_readings(run: &Run, executed: &[(f64, f64)], count_of: impl Fn(&Snapshot) -> u64) -> Vec<(f64, f64)> {
    let mut slices = run.slices.iter().peekable();
    let mut counted = 0;
    let count_at = |(at, total): &(f64, f64)| {
        while let Some(slice) = slices.next_if(|slice| slice.end as f64 / 1e9 <= at + 0.5) {
            counted += count_of(slice);
        }
        (counted as f64, *total)
    };
    executed.iter().map(count_at).collect()
}

/// Executions for each iteration, if their number follows that of iterations.
fn with_iterations(run: &Run, executed: &[(f64, f64)]) -> Option<f64> {
    // While work piles up, executions follow the iterations that ended, not those that began.
    let per_counted = |of: fn(&LeafSlice) -> u64| {
        let points = counts_at_readings(run, executed, |slice| slice.leaves.iter().map(of).sum());
        let (first, last) = (points.first()?, points.last()?);
        if last.0 - first.0 < COUNTED_MIN as f64 || last.1 <= first.1 {
            return None;
        }
        let each = (last.1 - first.1) / (last.0 - first.0);
        SLOPE_PER_RATIO.contains(&(LeastSquaresLine::through(&points)?.slope / each)).then_some(each)
    };
    per_counted(|leaf| leaf.started).or_else(|| per_counted(|leaf| leaf.ended))
}

/// The request whose rate explains the rate of executions much better than the rate of iterations does.
fn with_a_request(run: &Run, keys: &[&SeriesKey], executed: &[(f64, f64)]) -> Option<(String, LeastSquaresLine)> {
    let rates = |count_of: &dyn Fn(&Snapshot) -> u64| {
        let points = counts_at_readings(run, executed, count_of);
        let length = points.len().div_ceil(STRETCHES).max(1);
        let ends: Vec<(f64, f64)> = points.iter().copied().step_by(length).collect();
        ends.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)).collect::<Vec<_>>()
    };
    let of_iterations = LeastSquaresLine::through(&rates(&|slice| slice.leaves.iter().map(|leaf| leaf.ended).sum()))?;
    let line_of = |key: &SeriesKey| {
        let rates = rates(&|slice| slice.series.iter().find(|series| series.key == *key).map_or(0, |series| series.count));
        let count: f64 = rates.iter().map(|rate| rate.0).sum();
        let line = LeastSquaresLine::through(&rates).filter(|line| rates.len() >= STRETCHES_MIN && line.slope > 0.0)?;
        (count >= COUNTED_MIN as f64 && line.x_variation >= REQUEST_VARIATION_MIN && line.unexplained() <= 1.0 - EXPLAINED_MIN)
            .then_some(line)
    };
    let (key, line) =
        keys.iter().filter_map(|key| Some((key, line_of(key)?))).min_by(|a, b| a.1.unexplained().total_cmp(&b.1.unexplained()))?;
    // A request that is the only one of its iterations explains as much as they do, and its name is more informative.
    let is_alone = of_iterations.unexplained_in_proportion <= 1.0 - EXPLAINED_MIN && keys.len() == 1;
    (is_alone || line.unexplained() <= UNEXPLAINED_PART_MAX * of_iterations.unexplained_in_proportion).then(|| (key.name.to_string(), line))
}
