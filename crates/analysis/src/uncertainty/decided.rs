//! Which thresholds can be decided: the generator cannot have moved the number across the bound.
//!
//! A number lies between its least true value and the measured value. If the bound lies between the two, nobody can know whether the
//! threshold was met. A threshold that was met by a small margin remains met: time added by the generator and too few samples count against
//! the target, never for it.

use loadstone_metrics::{Histogram, LeafSlice, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric, Threshold, Window};
use loadstone_run_directory::Run;

use super::shortfall::{missing_rate, shortfall};
use super::{UncertaintyTally, matters};
use crate::load_source::LoadSource;
use crate::load_time::LoadTime;
use crate::statistics::{SAMPLES_BEYOND_MIN, samples_beyond};
use crate::thresholds::samples::{MeasuredValue, ThresholdSamples, is_time, selected, selects};
use crate::{RunTally, ThresholdResult, ThresholdState};

/// Significance level for few samples: if the binomial probability of the samples beyond the bound is higher, the percentile may be within
/// the bound.
const TOO_FEW_SAMPLES_PROBABILITY_MIN: f64 = 0.05;
/// Busy share of a worker above which it cannot send more requests.
const GENERATOR_BOUND_BUSY_SHARE_MIN: f64 = 0.97;

/// Why a threshold is undecided.
enum OpenReason {
    TooFewSamples(String),
    Generator(String),
}

/// Marks the results that cannot be decided. Also returns the labels of those that are undecided because of the generator.
pub(crate) fn decided(run: &Run, tally: &RunTally, mut results: Vec<ThresholdResult>) -> (Vec<ThresholdResult>, Vec<String>) {
    let mut of_generator = Vec::new();
    for result in &mut results {
        let why = match open_because(run, tally, result) {
            Some(OpenReason::TooFewSamples(why)) => why,
            Some(OpenReason::Generator(why)) => {
                of_generator.push(result.threshold.label.clone());
                why
            }
            None => continue,
        };
        result.state = ThresholdState::Undecided;
        result.detail = format!("{}; cannot be decided: {why}", result.detail);
    }
    (results, of_generator)
}

/// Why a threshold that failed may have been met. `None`: it was met, or it certainly failed.
fn open_because(run: &Run, tally: &RunTally, result: &ThresholdResult) -> Option<OpenReason> {
    let (threshold, value) = (&result.threshold, result.measured?);
    let upper = matches!(threshold.bound.comparison, Comparison::Below | Comparison::AtMost);
    let lower = matches!(threshold.bound.comparison, Comparison::Above | Comparison::AtLeast);
    match (result.state, &threshold.metric, threshold.aggregate) {
        (ThresholdState::Failed, metric, _) if upper && is_time(metric) => {
            let of_generator = || late_generator(run, tally, result).map(OpenReason::Generator);
            too_few_samples(run, threshold, value).map(OpenReason::TooFewSamples).or_else(of_generator)
        }
        (ThresholdState::Failed, Metric::Failures, Aggregate::Rate | Aggregate::Count) if upper => {
            late_timeouts(run, threshold).map(OpenReason::Generator)
        }
        (ThresholdState::Failed, Metric::Requests | Metric::Iterations, Aggregate::Rate | Aggregate::Count) if lower => {
            load_not_generated(run, tally, result, value).map(OpenReason::Generator)
        }
        _ => None,
    }
}

/// For a percentile with too few samples beyond it, compares the count beyond the bound with chance: if the objective were just met, the
/// count would be binomial.
fn too_few_samples(run: &Run, threshold: &Threshold, value: f64) -> Option<String> {
    let (Aggregate::Quantile(quantile), Window::WholeRun) = (threshold.aggregate, threshold.window) else { return None };
    let measured = measured(run.slices.iter().filter(|slice| slice.slice >= threshold.after_seconds), threshold);
    let count = measured.count();
    if count == 0 || samples_beyond(count, quantile) >= SAMPLES_BEYOND_MIN || quantile < 0.5 {
        return None;
    }
    // The value itself is not within the bound, regardless of the width of the histogram's buckets.
    let bound_ns = (threshold.bound.value.min(value) * 1e9) as u64;
    let beyond = (count - measured.count_at_or_below(bound_ns.saturating_sub(1))).max(1);
    let percentile = loadstone_units::percentile(quantile);
    (probability_of(beyond, count, 1.0 - quantile) > TOO_FEW_SAMPLES_PROBABILITY_MIN).then(|| {
        let samples = loadstone_units::counted(count, "sample");
        format!("{beyond} of {samples} beyond the bound are too few to estimate {percentile}")
    })
}

/// The probability of `least` or more out of `count`, each with the same probability.
fn probability_of(least: u64, count: u64, probability: f64) -> f64 {
    let mut term = (1.0 - probability).powf(count as f64);
    let mut below = 0.0;
    for k in 0..least {
        below += term;
        term *= (count - k) as f64 / (k + 1) as f64 * probability / (1.0 - probability);
    }
    (1.0 - below).max(0.0)
}

fn late_generator(run: &Run, tally: &RunTally, result: &ThresholdResult) -> Option<String> {
    let threshold = &result.threshold;
    if let Metric::FlowTime { .. } = threshold.metric {
        return late_for_flow(run, tally, result);
    }
    let mut most = 0.0_f64;
    for window in windows(run, result) {
        let is_in = |slice: &Snapshot| slice.slice >= window.0 && slice.slice < window.1;
        let mut samples = ThresholdSamples::default();
        run.slices.iter().filter(|slice| is_in(slice)).for_each(|slice| {
            // A threshold on times needs no rate.
            samples.add(threshold, slice, LoadTime::default());
        });
        let value = match samples.measure(threshold, None) {
            MeasuredValue::Value(value) if !threshold.bound.holds(value) => value,
            // The request was cut off by a time limit: its time is longer than the limit.
            MeasuredValue::AtLeast(least) if !threshold.bound.holds(least) => return None,
            _ => continue,
        };
        let measured = measured(run.slices.iter().filter(|slice| is_in(slice)), threshold);
        let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, is_in);
        let selected = tally.series().iter().map(|series| &series.merged).filter(|series| selects(threshold, &series.key));
        let uncertainty = uncertainties.of_all(selected.map(|series| (&series.key, series.count)));
        let least = match threshold.aggregate {
            Aggregate::Quantile(quantile) => uncertainty.least(quantile, value, &measured),
            Aggregate::Mean => value - uncertainty.of_mean(&measured),
            Aggregate::Max => uncertainty.least_max().min(value),
            _ => return None,
        };
        if !matters(value, value - least) || !threshold.bound.holds(least) {
            return None;
        }
        most = most.max(value - least);
    }
    (most > 0.0).then(|| may_have_added(run, most))
}

fn late_for_flow(run: &Run, tally: &RunTally, result: &ThresholdResult) -> Option<String> {
    let (threshold, value) = (&result.threshold, result.measured?);
    let (Window::WholeRun, Aggregate::Quantile(quantile)) = (threshold.window, threshold.aggregate) else { return None };
    let flow = tally.flows().iter().find(|flow| threshold.selector.name.as_deref() == Some(&flow.merged.name))?;
    let mut samples = ThresholdSamples::default();
    run.slices.iter().filter(|slice| slice.slice >= threshold.after_seconds).for_each(|slice| {
        samples.add(threshold, slice, LoadTime::default());
    });
    // The percentile lies among journeys that did not finish: the time is longer than the measured one, regardless of the generator.
    if !matches!(samples.measure(threshold, None), MeasuredValue::Value(_)) {
        return None;
    }
    let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, |slice| slice.slice >= threshold.after_seconds);
    let uncertainty = value - uncertainties.of_flow(&flow.merged.time).least(quantile, value, &flow.merged.time);
    let is_open = matters(value, uncertainty) && threshold.bound.holds(value - uncertainty);
    is_open.then(|| may_have_added(run, uncertainty))
}

fn may_have_added(run: &Run, seconds: f64) -> String {
    format!("{} may have added up to {}", LoadSource::of(&run.plan).short_name(), loadstone_units::seconds(seconds))
}

/// The windows, the worst one first: first and last second (exclusive).
fn windows(run: &Run, result: &ThresholdResult) -> Vec<(u32, u32)> {
    let (first, end) = (result.threshold.after_seconds, run.slices.last().map_or(0, |slice| slice.slice + 1));
    let Window::Every { seconds } = result.threshold.window else { return vec![(first, end)] };
    let (seconds, worst) = (seconds.max(1), result.at_seconds.unwrap_or(0.0) as u32);
    let others = (first + (worst.saturating_sub(first)) % seconds..end).step_by(seconds as usize).filter(|begin| *begin != worst);
    std::iter::once(worst).chain(others).map(|begin| (begin, begin + seconds)).collect()
}

fn measured<'a>(slices: impl Iterator<Item = &'a Snapshot>, threshold: &Threshold) -> Histogram {
    let mut all = Histogram::new();
    for series in slices.flat_map(|slice| selected(threshold, slice)) {
        all.merge(if threshold.metric == Metric::ServiceTime { &series.service } else { &series.response });
    }
    all
}

/// Failures are counted exactly. However, a response may have arrived before its time limit and been read after it.
fn late_timeouts(run: &Run, threshold: &Threshold) -> Option<String> {
    if threshold.window != Window::WholeRun {
        return None;
    }
    let judged = |slice: &Snapshot| slice.slice >= threshold.after_seconds;
    let (mut count, mut failed) = (0, 0);
    let slices = run.slices.iter().filter(|slice| judged(slice));
    for series in slices.flat_map(|slice| selected(threshold, slice)) {
        count += series.count;
        failed += series.failed;
    }
    let uncertainties = UncertaintyTally::of(&run.plan, &run.slices, judged);
    let late = uncertainties.timeouts_read_late(|key| selects(threshold, key)).min(failed);
    let least = (failed - late) as f64 / if threshold.aggregate == Aggregate::Rate { count.max(1) as f64 } else { 1.0 };
    let is_open = late > 0 && threshold.bound.holds(least);
    is_open.then(|| {
        let timed_out = loadstone_units::counted(late, "timed-out request");
        let source = LoadSource::of(&run.plan);
        format!("the target may have answered up to {timed_out} in time, which {} read late", source.short_name())
    })
}

/// The rate or count is too low because the generator sent too few requests.
fn load_not_generated(run: &Run, tally: &RunTally, result: &ThresholdResult, value: f64) -> Option<String> {
    const GENERATOR_AT_LIMIT: &str = "the generator reached its limit and produced less load than the test asks for";
    let bound = &result.threshold.bound;
    let share = tally.leaves().iter().map(shortfall).fold(0.0, f64::max);
    let is_closed = run.plan.load.leaves().iter().any(|leaf| !leaf.profile.is_open());
    let is_at_limit = is_closed && tally.workers().iter().any(|worker| worker.busiest_share > GENERATOR_BOUND_BUSY_SHARE_MIN);
    if is_at_limit || share > 0.0 && bound.holds(value + missing_rate(value, share)) {
        return Some(GENERATOR_AT_LIMIT.to_owned());
    }
    let Window::Every { seconds } = result.threshold.window else { return None };
    // Arrivals that were due in the worst window and started after it: the generator was late, and caught up.
    let begin = result.at_seconds? as u32;
    let behind = started_after(run, begin, begin + seconds.max(1));
    let missing = if result.threshold.aggregate == Aggregate::Rate { behind as f64 / f64::from(seconds.max(1)) } else { behind as f64 };
    let is_open = behind > 0 && bound.holds(value + missing);
    is_open.then(|| {
        format!(
            "{} due in that window started after it, because the generator was \
         late",
            loadstone_units::counted(behind, "arrival")
        )
    })
}

/// Arrivals that were due in the seconds from `begin` to `end` (exclusive) and started after them, although a user was free.
fn started_after(run: &Run, begin: u32, end: u32) -> u64 {
    let is_in = |slice: &&Snapshot| slice.slice >= begin && slice.slice < end;
    let leaves = || run.slices.iter().filter(is_in).flat_map(|slice| &slice.leaves);
    let sum = |of: fn(&LeafSlice) -> u64| leaves().map(of).sum::<u64>();
    // An arrival on the edge of the window, and arrivals that wait for a user that the target holds, are not late because of the generator.
    let waiting = run.slices.iter().rfind(is_in).map_or(0, |slice| slice.leaves.iter().map(|leaf| leaf.waiting).sum::<u64>());
    let held_back_then =
        run.slices.iter().filter(|slice| slice.slice >= begin).flat_map(|slice| &slice.leaves).map(|leaf| leaf.held_back).sum::<u64>();
    sum(|leaf| leaf.arrivals_due).saturating_sub(sum(|leaf| leaf.started) + waiting).min(held_back_then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_match_the_binomial_distribution() {
        // Tables of B(10, 0.05): P(X ≥ 1) = 0.4013, P(X ≥ 2) = 0.0861, P(X ≥ 3) = 0.0115.
        for (least, chance) in [(0, 1.0), (1, 0.4013), (2, 0.0861), (3, 0.0115)] {
            assert!((probability_of(least, 10, 0.05) - chance).abs() < 5e-5, "{least}: {}", probability_of(least, 10, 0.05));
        }
    }
}
