//! Was the target steady under steady load? A trend is not the fault of the measurement, so this only warns: as long as times still move, percentiles
//! depend on how long the run went on.

use super::check::{CheckInfo, CheckInput};
use crate::{Grade, SliceTotals, ValidityCheck};

/// Seconds that the second half must have.
const SECONDS_MIN: usize = 15;
/// How much the load may vary within the half to count as constant.
const LOAD_SPREAD_MAX: f64 = 0.10;
/// Growth over the half, relative to its median, that is worth a warning.
const GROWTH_MIN: f64 = 0.25;

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "steady",
    title: "Steady state",
    limits: "a warning, never a grade: under constant load, the mean response time of the second half moved by more than 25 %",
};

pub(super) fn check(input: &CheckInput<'_>) -> ValidityCheck {
    let seconds: Vec<&SliceTotals> = input.tally.seconds().iter().filter(|second| second.requests > 0).collect();
    let half = &seconds[seconds.len() / 2..];
    // The last second is often a part of one, and the one in which users go.
    let half = &half[..half.len().saturating_sub(1)];
    if half.len() < SECONDS_MIN {
        return INFO.nothing("too short to see a trend");
    }
    let load: Vec<f64> = half.iter().map(|second| second.started.max(second.users_active) as f64).collect();
    let (third, rest) = (load.len() / 3, load.len() - load.len() / 3);
    let (early, late) = (mean(&load[..third]), mean(&load[rest..]));
    if (late - early).abs() > LOAD_SPREAD_MAX * early.max(late) {
        return INFO.nothing("the load was not constant in the second half");
    }
    let times: Vec<f64> = half.iter().map(|second| second.response_sum_ns as f64 / second.requests as f64 / 1e9).collect();
    let growth = theil_sen(&times) * (times.len() - 1) as f64 / median(times.clone());
    if growth.abs() < GROWTH_MIN || kendall_z(&times).abs() < 3.0 {
        return INFO.graded(Grade::Valid, "no trend in the second half", "");
    }
    let direction = if growth > 0.0 { "rose" } else { "fell" };
    let evidence = format!(
        "under constant load, response times {direction} by {} over the second half ({} s)",
        loadstone_units::share(growth.abs()),
        times.len()
    );
    let advice =
        "The target had not settled: percentiles depend on the length of the run. Run longer, or judge thresholds after a warm-up.";
    INFO.with(Some(Grade::Valid), evidence, advice)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// At most this many points enter the pairwise statistics; longer series are thinned evenly.
const POINTS_MAX: usize = 300;

fn thinned(values: &[f64]) -> (Vec<f64>, f64) {
    let step = values.len().div_ceil(POINTS_MAX).max(1);
    (values.iter().step_by(step).copied().collect(), step as f64)
}

/// The median of the slopes between all pairs: Theil (1950), Sen (1968).
fn theil_sen(values: &[f64]) -> f64 {
    let (values, step) = thinned(values);
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    median(pairs.map(|(i, j)| (values[j] - values[i]) / ((j - i) as f64 * step)).collect())
}

/// Mann–Kendall statistic in standard deviations under "no trend".
fn kendall_z(values: &[f64]) -> f64 {
    let (values, _) = thinned(values);
    let n = values.len() as f64;
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let concordance: f64 = pairs.map(|(i, j)| (values[j] - values[i]).signum()).sum();
    concordance / (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt()
}
