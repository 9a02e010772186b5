//! When a signal went from one level to another: the split of its readings into two parts that differ most.
//!
//! Times of few requests change slowly, as requests end. The use of a resource changes in the second in which its cause begins.

use super::readings::SignalReadings;
use crate::statistics::{mean, quantile};

/// Readings on either side.
const READINGS_MIN: usize = 4;
/// Factor between the levels.
const FACTOR_MIN: f64 = 1.5;
/// Part of the readings of the lower side that the same part of the higher side must exceed: levels that hardly overlap.
const APART_QUANTILE: f64 = 0.9;

/// A step of a signal, between means of its readings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelStep {
    /// The last reading before it. A reading describes the time before it. Seconds since the run began.
    pub(crate) at: f64,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// The step within a stretch that leaves the least variance on both sides. `None`: the levels overlap or are alike.
pub(crate) fn find(readings: &SignalReadings<'_>, (from, to): (f64, f64)) -> Option<LevelStep> {
    let points: Vec<(f64, f64)> = readings.between(from, to).filter(|(_, value)| value.is_finite()).collect();
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let last = values.len().checked_sub(READINGS_MIN)?;
    // The sum of squares between the parts.
    let between = |split: &usize| {
        let (left, right) = values.split_at(*split);
        (mean(left) - mean(right)).powi(2) * left.len() as f64 * right.len() as f64
    };
    let split = (READINGS_MIN..=last).max_by(|a, b| between(a).total_cmp(&between(b)))?;
    let (left, right) = values.split_at(split);
    let (before, after) = (mean(left), mean(right));
    let (low, high) = if before < after { (left, right) } else { (right, left) };
    let is_apart = quantile(low, APART_QUANTILE) < quantile(high, 1.0 - APART_QUANTILE);
    (is_apart && before.max(after) >= FACTOR_MIN * before.min(after)).then(|| LevelStep { at: points[split - 1].0, before, after })
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::{Signal, SignalKind, SignalPoint};
    use loadstone_run_directory::SignalSeries;

    use super::*;

    fn step(values: impl Fn(u64) -> f64) -> Option<LevelStep> {
        let signal = Signal { kind: SignalKind::Gauge, ..Signal::default() };
        let points = (0..40).map(|second| SignalPoint { at: second * 1_000_000_000 + 500_000_000, value: values(second) }).collect();
        find(&SignalReadings::of(&SignalSeries { signal, points }), (0.0, 40.0))
    }

    #[test]
    fn a_step_is_where_the_level_changed_and_noise_has_none() {
        let noise = |second: u64| 0.1 * (second * 7 % 5) as f64;
        let found = step(|second| noise(second) + if second < 15 { 0.2 } else { 2.0 }).unwrap();
        assert!((found.at - 14.5).abs() < 1e-9 && found.before < 0.5 && found.after > 1.9, "{found:?}");
        assert!(step(noise).is_none());
        assert!(step(|second| if second % 2 == 0 { 0.1 } else { 2.0 }).is_none());
        assert!(step(|_| 1.0).is_none());
    }
}
