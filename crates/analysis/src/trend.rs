//! A series that keeps growing or falling.
//!
//! Mann–Kendall's test with the variance of Hamed & Rao (1998), who widen it where neighbours resemble each other.

use crate::robust::{line, median};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Growth per value, and the line's height at the first.
    pub(crate) slope: f64,
    pub(crate) height: f64,
    /// Chance that a series without a trend shows one as clear.
    pub(crate) p_value: f64,
}

/// Fewer values say nothing.
pub(crate) const VALUES_MIN: usize = 15;

/// `None`: too few values, or all are equal.
pub(crate) fn find(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if count < VALUES_MIN {
        return None;
    }
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
    let concordance: f64 = pairs.map(|(i, j)| sign(values[j] - values[i])).sum();
    let (slope, height) = line(values);
    let rest: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - slope * index as f64).collect();
    let n = count as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * inflation(&rest);
    let z = (concordance.abs() - 1.0).max(0.0) / variance.sqrt();
    (concordance != 0.0).then(|| Trend { slope, height, p_value: two_sided(z) })
}

fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// Factor of the variance, from the autocorrelations that stand out; chance gives each a deviation of 1/√n.
fn inflation(rest: &[f64]) -> f64 {
    let n = rest.len() as f64;
    let middle = median(rest);
    // Signs about the median in the place of ranks: they, too, give an outlier no weight.
    let signs: Vec<f64> = rest.iter().map(|value| sign(value - middle)).collect();
    let correlation = |lag: usize| signs.iter().zip(&signs[lag..]).map(|(a, b)| a * b).sum::<f64>() / n;
    let weight = |lag: f64| (n - lag) * (n - lag - 1.0) * (n - lag - 2.0);
    let stands_out = |lag: &usize| correlation(*lag).abs() > 1.96 / n.sqrt();
    let sum: f64 = (1..rest.len() / 3).filter(stands_out).map(|lag| weight(lag as f64) * correlation(lag)).sum();
    (1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum).max(1.0)
}

/// Chance of a standard normal value at least this far from zero (Abramowitz & Stegun 26.2.17).
fn two_sided(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    2.0 * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_a_trend_and_what_wavers_is_none() {
        let wave = |n: usize| ((n * 7919) % 101) as f64 / 101.0;
        let grows: Vec<f64> = (0..60).map(|n| wave(n) + n as f64 / 20.0).collect();
        let found = find(&grows).unwrap();
        assert!(found.p_value < 1e-9 && (found.slope - 0.05).abs() < 0.01, "{found:?}");
        let wavers: Vec<f64> = (0..60).map(wave).collect();
        assert!(find(&wavers).is_none_or(|found| found.p_value > 0.01));
        assert_eq!(find(&[1.0; 60]), None);
    }

    #[test]
    fn the_chance_is_the_normal_distributions() {
        for (z, p) in [(1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}");
        }
    }
}
