//! Whether a labelled series has the shape that the method assumes: levels with stationary noise, as in the history of a load test.
//!
//! The rule was written before the method ran on any labelled series, and reads the labels and the values only. Within the segments of each annotator, the
//! values must neither follow a trend nor depend on each other more than in the simulated histories of the accuracy of trends.

use super::agreement::{Labels, segments};

/// Values of a segment that can show a shape. In ten values of noise, |τ| averages 0.2.
const SEGMENT_MIN: usize = 10;
/// Mean |τ| of Kendall within segments. At 0.3, the level moves by about two standard deviations of the noise within a segment.
pub(super) const TREND_MAX: f64 = 0.3;
/// Largest autocorrelation within segments. The simulated histories, for which the rates of errors are known, have up to 0.7.
pub(super) const DEPENDENCE_MAX: f64 = 0.7;
/// Two years of monthly values.
const LAG_MAX: usize = 24;
/// Pairs of values of which a correlation is computed.
const PAIRS_MIN: usize = 20;

/// Means over the annotators. `None`: no segment is long enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SeriesShape {
    pub(super) trend: Option<f64>,
    pub(super) dependence: Option<f64>,
}

impl SeriesShape {
    /// `values`: without those that are absent, and `annotators` counts them without these.
    pub(super) fn of(values: &[f64], annotators: &[Labels]) -> Self {
        let long = |labels: &Labels| -> Vec<&[f64]> {
            let parts = segments(labels, values.len()).into_iter().map(|(from, to)| &values[from..to]);
            parts.filter(|part| part.len() >= SEGMENT_MIN).collect()
        };
        let parts: Vec<Vec<&[f64]>> = annotators.iter().map(long).collect();
        Self {
            trend: mean(parts.iter().filter_map(|parts| trend(parts))),
            dependence: mean(parts.iter().filter_map(|parts| dependence(parts))),
        }
    }

    /// `None`: too short to judge.
    pub(super) fn is_level(self) -> Option<bool> {
        Some(self.trend? <= TREND_MAX && self.dependence? <= DEPENDENCE_MAX)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Mean of |τ| (Kendall, "A new measure of rank correlation", 1938) between values and their positions, weighted by the segments' lengths.
fn trend(parts: &[&[f64]]) -> Option<f64> {
    let count: usize = parts.iter().map(|part| part.len()).sum();
    let sum: f64 = parts.iter().map(|part| part.len() as f64 * kendall(part).abs()).sum();
    (count > 0).then(|| sum / count as f64)
}

fn kendall(part: &[f64]) -> f64 {
    let sign = |difference: f64| if difference == 0.0 { 0.0 } else { difference.signum() };
    let score: f64 = part.iter().enumerate().map(|(at, value)| part[at + 1..].iter().map(|later| sign(later - value)).sum::<f64>()).sum();
    score / (part.len() * (part.len() - 1) / 2) as f64
}

/// The largest autocorrelation of the residuals of the segments' means, over all lags with enough pairs. A season appears at its period, a trend at lag 1.
fn dependence(parts: &[&[f64]]) -> Option<f64> {
    let residuals: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| {
            let level = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|value| value - level).collect()
        })
        .collect();
    let square = mean(residuals.iter().flatten().map(|value| value * value)).filter(|square| *square > 0.0)?;
    let correlation = |lag: usize| {
        let pairs: Vec<f64> = residuals.iter().flat_map(|part| part.iter().zip(part.iter().skip(lag)).map(|(a, b)| a * b)).collect();
        (pairs.len() >= PAIRS_MIN).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64 / square)
    };
    (1..=LAG_MAX).filter_map(correlation).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic noise between −1 and 1.
    fn noise(n: usize) -> f64 {
        ((n * n * 37 + n * 11) % 101) as f64 / 50.0 - 1.0
    }

    #[test]
    fn kendall_is_as_computed_by_hand() {
        assert_eq!(kendall(&[1.0, 2.0, 3.0, 4.0]), 1.0);
        // Of six pairs, (3, 1), (3, 2) fall and four rise.
        assert!((kendall(&[3.0, 1.0, 2.0, 4.0]) - 2.0 / 6.0).abs() < 1e-12);
        assert_eq!(kendall(&[1.0, 1.0]), 0.0);
    }

    #[test]
    fn levels_are_distinguished_from_trends_and_seasons() {
        let series = |value: &dyn Fn(usize) -> f64| (0..120).map(value).collect::<Vec<f64>>();
        let labels = [vec![60], vec![61]];
        let is_level = |values: &[f64]| SeriesShape::of(values, &labels).is_level();
        assert_eq!(is_level(&series(&|n| noise(n) + if n < 60 { 0.0 } else { 5.0 })), Some(true));
        assert_eq!(is_level(&series(&|n| noise(n) + n as f64 / 10.0)), Some(false), "a trend");
        assert_eq!(is_level(&series(&|n| noise(n) + 4.0 * (n as f64 * std::f64::consts::TAU / 12.0).sin())), Some(false), "a season");
        assert_eq!(SeriesShape::of(&[1.0; 12], &[vec![6]]).is_level(), None, "segments of six values");
    }
}
