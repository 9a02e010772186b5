//! The result of one probe: each objective with its interval, and whether the system kept up.

use loadstone_metrics::{SeriesKind, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric, Threshold, Window};
use loadstone_run_directory::Run;

use super::model::{ObjectiveReading, ProbeDisturbance, ProbeLean, ProbeReading};
use crate::statistics::{mean, mean_of_batches, trend, wilson_interval};
use crate::thresholds::{interval_of, samples};
use crate::validity::generator_evidence;
use crate::{Grade, ThresholdResult, ThresholdState, Validity, ValidityCheck};

/// Maximum p-value of a trend of the backlog.
const TREND_P_MAX: f64 = 0.01;
/// Minimum ratio of the requests in the system between the last and the first third of a probe. At a utilisation of 1 the backlog grows
/// with the square root of the time, so it is 1.7 times as large after a short warm-up. A linear criterion would expect more and miss it.
const BACKLOG_RATIO_MIN: f64 = 1.4;
const BACKLOG_GROWTH_MIN: f64 = 3.0;
/// Minimum share of the arrivals by which the backlog grows in a probe that is not sustained.
const DEFICIT_MIN: f64 = 0.03;
/// Validity checks that fail because of the system, not because of the generator.
const CHECKS_OF_THE_SYSTEM: [&str; 5] = ["requests", "steady", "samples", "users-max", "connecting"];

/// Why a threshold cannot be an objective of a search; `None`: it can.
pub fn objective_problem(threshold: &Threshold) -> Option<&'static str> {
    if !matches!(threshold.bound.comparison, Comparison::Below | Comparison::AtMost | Comparison::Equals) {
        return Some("more load must make an objective harder to meet: give an upper bound");
    }
    match (&threshold.metric, threshold.aggregate) {
        (Metric::Requests | Metric::Iterations, _) => Some("the number of requests is the load itself: give a bound on times or failures"),
        (metric, Aggregate::Rate) if !metric.rate_is_share() => Some("a rate is the load itself: give a bound on times or failures"),
        (metric, Aggregate::Count) if metric.rate_is_share() => Some("a count always grows with the load: give a bound on the share"),
        _ => None,
    }
}

impl ProbeReading {
    /// Reads a run and its conclusions. Its thresholds are the objectives, each measured after the warm-up.
    pub fn of(run: &Run, results: &[ThresholdResult], validity: &Validity) -> Self {
        let objectives: Vec<ObjectiveReading> = results.iter().map(|result| objective(run, result)).collect();
        let measured: Vec<&Snapshot> = measured_slices(run);
        let failed = objectives.iter().any(|objective| objective.certainly_fails());
        let flow = Flow::of(&measured);
        Self {
            backlog_grows: flow.grows(),
            backlog: flow.left,
            throughput: flow.throughput,
            arrivals: flow.arrived / flow.seconds,
            grade: validity.grade,
            is_unusable: invalidated_by(validity).is_some() && !(failed && flow.grows()),
            disturbances: disturbances(validity),
            objectives,
        }
    }

    /// The direction of the evidence.
    pub fn lean(&self) -> ProbeLean {
        if self.is_unusable {
            ProbeLean::Unusable
        } else if self.backlog_grows || self.objectives.iter().any(|objective| !objective.holds) {
            ProbeLean::Fails
        } else {
            ProbeLean::Holds
        }
    }
}

/// The check that makes the measurement invalid, if the system is not the cause.
pub(super) fn invalidated_by(validity: &Validity) -> Option<&ValidityCheck> {
    validity.checks.iter().find(|check| check.grade == Some(Grade::Invalid) && !CHECKS_OF_THE_SYSTEM.contains(&check.id.as_str()))
}

/// Why the generator was late, as it recorded about itself.
fn disturbances(validity: &Validity) -> Vec<ProbeDisturbance> {
    let of = |check: &ValidityCheck| ProbeDisturbance { what: check.title.clone(), evidence: check.evidence.clone() };
    generator_evidence(validity).map(of).collect()
}

impl ObjectiveReading {
    fn certainly_fails(&self) -> bool {
        !self.holds && (self.low.is_some_and(|low| low > self.bound) || self.measured.is_none())
    }
}

/// The seconds of load after the warm-up.
fn measured_slices(run: &Run) -> Vec<&Snapshot> {
    let from = run.plan.thresholds.iter().map(|threshold| threshold.after_seconds).max().unwrap_or(0);
    let asks = |slice: &Snapshot| slice.leaves.iter().any(|leaf| leaf.arrivals_due > 0 || leaf.users_asked > 0);
    let last = run.slices.iter().rposition(asks).map_or(0, |last| last + 1);
    run.slices[..last].iter().filter(|slice| slice.slice >= from).collect()
}

fn objective(run: &Run, result: &ThresholdResult) -> ObjectiveReading {
    let threshold = &result.threshold;
    let is_time = samples::is_time(&threshold.metric)
        && threshold.window == Window::WholeRun
        && matches!(threshold.aggregate, Aggregate::Quantile(_) | Aggregate::Mean);
    let interval = match threshold.aggregate {
        Aggregate::Quantile(_) if is_time => interval_of(run, threshold),
        Aggregate::Mean if is_time => result.measured.and_then(|mean| mean_interval(run, threshold, mean)),
        Aggregate::Rate if threshold.metric == Metric::Failures => failure_interval(run, threshold),
        _ => None,
    };
    ObjectiveReading {
        objective: threshold.label.clone(),
        bound: threshold.bound.value,
        measured: result.measured,
        low: interval.and_then(|interval| interval.0),
        high: interval.and_then(|interval| interval.1),
        holds: match result.state {
            ThresholdState::Passed => true,
            ThresholdState::Failed | ThresholdState::NoData => false,
            // The generator may be the cause, or too few samples, but the measured value still gives a side.
            ThresholdState::Undecided | ThresholdState::Pending => result.measured.is_some_and(|measured| threshold.bound.holds(measured)),
        },
        is_time,
    }
}

type Ends = (Option<f64>, Option<f64>);

fn mean_interval(run: &Run, threshold: &Threshold, mean: f64) -> Option<Ends> {
    let of = |slice: &&Snapshot| {
        let selected = slice.series.iter().filter(|series| samples::selects(threshold, &series.key));
        let (count, sum) = selected.fold((0, 0.0), |(count, sum), series| {
            let times = if threshold.metric == Metric::ServiceTime { &series.service } else { &series.response };
            (count + times.count(), sum + times.sum() as f64 / 1e9)
        });
        (count > 0).then(|| sum / count as f64)
    };
    let seconds: Vec<f64> = measured_slices(run).iter().filter_map(of).collect();
    let half = mean_of_batches(&seconds).1;
    half.is_finite().then_some((Some((mean - half).max(0.0)), Some(mean + half)))
}

fn failure_interval(run: &Run, threshold: &Threshold) -> Option<Ends> {
    let series = measured_slices(run).into_iter().flat_map(|slice| &slice.series);
    let selected = series.filter(|series| samples::selects(threshold, &series.key));
    let (failed, count) = selected.fold((0, 0), |(failed, count), series| (failed + series.failed, count + series.count));
    let (low, high) = wilson_interval(failed, count);
    (count > 0).then_some((Some(low), Some(high)))
}

/// Arrivals, completions and backlog.
struct Flow {
    /// Number of requests in the system at the end of each second, of open load.
    levels: Vec<f64>,
    arrived: f64,
    left: f64,
    throughput: f64,
    seconds: f64,
}

impl Flow {
    fn of(slices: &[&Snapshot]) -> Self {
        let level = |slice: &&Snapshot| {
            let open = slice.leaves.iter().filter(|leaf| leaf.users_asked == 0);
            open.map(|leaf| (leaf.waiting + leaf.users_active) as f64).sum::<f64>()
        };
        let levels: Vec<f64> = slices.iter().map(level).collect();
        let requests = |slice: &&Snapshot| {
            slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request).map(|series| series.count).sum::<u64>() as f64
        };
        let seconds = slices.iter().map(|slice| (slice.end - slice.start) as f64 / 1e9).sum::<f64>().max(1e-9);
        Self {
            left: slices.last().map_or(0.0, |slice| slice.leaves.iter().map(|leaf| (leaf.waiting + leaf.users_active) as f64).sum()),
            arrived: slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.arrivals_due as f64).sum(),
            throughput: slices.iter().map(requests).sum::<f64>() / seconds,
            seconds,
            levels,
        }
    }

    /// The demand of closed load adapts to the system: only open load can exceed it.
    fn grows(&self) -> bool {
        let third = self.levels.len() / 3;
        if self.arrived == 0.0 || third == 0 {
            return false;
        }
        let (first, last) = (mean(&self.levels[..third]), mean(&self.levels[self.levels.len() - third..]));
        let grown = last - first;
        // The two thirds are two thirds of the time apart.
        let deficit = grown / (self.arrived * 2.0 / 3.0);
        if deficit >= DEFICIT_MIN && grown >= 4.0 * (self.arrived / 3.0).sqrt() {
            return true;
        }
        let is_trend = || trend::find(&self.levels).is_some_and(|trend| trend.slope > 0.0 && trend.p_value < TREND_P_MAX);
        last >= BACKLOG_RATIO_MIN * first && grown >= BACKLOG_GROWTH_MIN && is_trend()
    }
}
