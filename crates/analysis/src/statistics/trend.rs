//! Whether a series keeps growing or falling.
//!
//! Mann–Kendall's test (Mann, "Nonparametric tests against trend", 1945; Kendall, *Rank Correlation Methods*, 1948) with the variance of Hamed and Rao ("A
//! modified Mann-Kendall trend test for autocorrelated data", 1998), which is larger where neighbours resemble each other.

use super::Z_95;
use super::lines::{theil_sen, thinned};
use super::normal::two_sided;
use super::robust::median;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// Growth per value.
    pub(crate) slope: f64,
    /// The line's height at the first value.
    pub(crate) height: f64,
    /// Probability that a series without a trend shows one as clear.
    pub(crate) p_value: f64,
}

/// Values that a series needs for a trend to be tested.
pub(crate) const VALUES_MIN: usize = 15;

/// The trend of a series. A long series is thinned evenly, since the test compares all pairs. `None`: too few values, or all are equal.
pub(crate) fn find(values: &[f64]) -> Option<Trend> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (slope, height) = theil_sen(values);
    let (values, step) = thinned(values);
    let count = values.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
    let concordance: f64 = pairs.map(|(i, j)| sign(values[j] - values[i])).sum();
    let rest: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - slope * (index * step) as f64).collect();
    let n = count as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * inflation(&rest);
    let z = (concordance.abs() - 1.0).max(0.0) / variance.sqrt();
    (concordance != 0.0).then(|| Trend { slope, height, p_value: two_sided(z) })
}

/// Unlike `signum`, 0 for 0: equal values are neither a rise nor a fall.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// Factor of the variance, from the significant autocorrelations: by chance each has a standard deviation of 1/√n.
fn inflation(rest: &[f64]) -> f64 {
    let n = rest.len() as f64;
    let middle = median(rest);
    // Signs about the median instead of the ranks of the paper: they, too, give an outlier no weight.
    let signs: Vec<f64> = rest.iter().map(|value| sign(value - middle)).collect();
    let correlation = |lag: usize| signs.iter().zip(&signs[lag..]).map(|(a, b)| a * b).sum::<f64>() / n;
    let weight = |lag: f64| (n - lag) * (n - lag - 1.0) * (n - lag - 2.0);
    let is_significant = |lag: &usize| correlation(*lag).abs() > Z_95 / n.sqrt();
    let sum: f64 = (1..rest.len() / 3).filter(is_significant).map(|lag| weight(lag as f64) * correlation(lag)).sum();
    (1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_a_trend_and_noise_is_none() {
        let wave = |n: usize| ((n * 7919) % 101) as f64 / 101.0;
        let grows: Vec<f64> = (0..60).map(|n| wave(n) + n as f64 / 20.0).collect();
        let found = find(&grows).unwrap();
        assert!(found.p_value < 1e-9 && (found.slope - 0.05).abs() < 0.01, "{found:?}");
        let noise: Vec<f64> = (0..60).map(wave).collect();
        assert!(find(&noise).is_none_or(|found| found.p_value > 0.01));
        assert_eq!(find(&[1.0; 60]), None);
    }

    /// A day of seconds has 3.7 billion pairs.
    #[test]
    fn a_long_series_is_tested_by_a_part_of_its_values() {
        let wave = |n: usize| ((n * 7919) % 101) as f64;
        let grows: Vec<f64> = (0..86_400).map(|n| wave(n) + n as f64 / 100.0).collect();
        let found = find(&grows).unwrap();
        assert!(found.p_value < 1e-9 && (found.slope - 0.01).abs() < 0.001, "{found:?}");
        let noise: Vec<f64> = (0..86_400).map(wave).collect();
        assert!(find(&noise).is_none_or(|found| found.p_value > 0.01));
    }
}
