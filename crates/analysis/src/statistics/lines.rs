//! Straight lines through points.

use super::moments::mean;
use super::robust::median;

/// At most this many values enter statistics over all pairs, whose cost grows with the square. A longer series is thinned evenly.
const PAIRED_VALUES_MAX: usize = 300;

/// Every n-th value of a series, so that few enough remain for statistics over all pairs; and n.
pub(super) fn thinned(values: &[f64]) -> (Vec<f64>, usize) {
    let step = values.len().div_ceil(PAIRED_VALUES_MAX).max(1);
    (values.iter().step_by(step).copied().collect(), step)
}

/// Slope per value, and the line's height at the first value: the median of the slopes between all pairs (Theil, "A rank-invariant method of linear and
/// polynomial regression analysis", 1950; Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968). An outlier does not move it.
pub(crate) fn theil_sen(values: &[f64]) -> (f64, f64) {
    let (values, step) = thinned(values);
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs.map(|(i, j)| (values[j] - values[i]) / ((j - i) * step) as f64).collect();
    let slope = median(&slopes);
    let heights: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - slope * (index * step) as f64).collect();
    (slope, median(&heights))
}

/// The straight line through points (x, y) with the least squared distances in y (Legendre 1805; Draper and Smith, *Applied Regression Analysis*, chapter
/// 1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeastSquaresLine {
    pub(crate) slope: f64,
    /// Part of the variance of y that the line explains, R².
    pub(crate) explained: f64,
    /// The sum of y over the sum of x.
    pub(crate) ratio: f64,
    /// Part of the variance of y that the best line through zero leaves. It may exceed 1.
    pub(crate) unexplained_in_proportion: f64,
    /// Coefficient of variation of x.
    pub(crate) x_variation: f64,
}

impl LeastSquaresLine {
    /// `None` where all x are equal.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let (x, y) = (points.iter().map(|point| point.0).sum::<f64>() / count, points.iter().map(|point| point.1).sum::<f64>() / count);
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
        if points.is_empty() || xx <= 0.0 {
            return None;
        }
        let through_zero = points.iter().map(|(x, y)| x * y).sum::<f64>() / points.iter().map(|(x, _)| x * x).sum::<f64>();
        let left = points.iter().map(|(x, y)| (y - through_zero * x).powi(2)).sum::<f64>();
        Some(Self {
            slope: xy / xx,
            explained: if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 },
            ratio: y / x,
            unexplained_in_proportion: left / yy,
            x_variation: (xx / count).sqrt() / x.max(1e-9),
        })
    }

    /// Part of the variance of y that the line leaves.
    pub(crate) fn unexplained(&self) -> f64 {
        (1.0 - self.explained).max(0.0)
    }
}

/// Intercept and slope of the line through points (x, y, instrument), where both x and y are noisy: least squares would flatten it. The instrument follows x
/// and is independent of the noise of both (Wald, "The fitting of straight lines if both variables are subject to error", 1940).
pub(crate) fn instrumental_line(points: &[(f64, f64, f64)]) -> (f64, f64) {
    let mean_of = |of: fn(&(f64, f64, f64)) -> f64| mean(&points.iter().map(of).collect::<Vec<f64>>());
    let (x, y, z) = (mean_of(|point| point.0), mean_of(|point| point.1), mean_of(|point| point.2));
    let with_instrument = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(|point| (point.2 - z) * of(point)).sum::<f64>();
    let slope = with_instrument(&|point| point.1 - y) / with_instrument(&|point| point.0 - x);
    (y - slope * x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn theil_sens_line_ignores_an_outlier() {
        let mut values: Vec<f64> = (0..20).map(|n| 5.0 + 2.0 * f64::from(n)).collect();
        values[7] = 1e9;
        assert_eq!(theil_sen(&values), (2.0, 5.0));
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_slope() {
        let values: Vec<f64> = (0..10_000).map(|n| 5.0 + 2.0 * f64::from(n)).collect();
        assert!(thinned(&values).0.len() <= PAIRED_VALUES_MAX);
        assert_eq!(theil_sen(&values), (2.0, 5.0));
    }

    #[test]
    fn least_squares_by_hand() {
        // Slope (−1·−1 + 1·2) / 2, and R² = 3² / (2 · 14/3).
        let line = LeastSquaresLine::through(&[(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]).unwrap();
        assert!((line.slope - 1.5).abs() < 1e-12 && (line.explained - 27.0 / 28.0).abs() < 1e-12, "{line:?}");
        // Through zero: slope 10/5 leaves 1 + 0 + 0.
        assert!((line.ratio - 7.0 / 3.0).abs() < 1e-12 && (line.unexplained_in_proportion - 3.0 / 14.0).abs() < 1e-12, "{line:?}");
        assert!(LeastSquaresLine::through(&[(1.0, 1.0), (1.0, 2.0)]).is_none());
        assert!(LeastSquaresLine::through(&[]).is_none());
    }

    /// Noise in x flattens the line of least squares; the instrument knows nothing of that noise.
    #[test]
    fn an_instrument_sees_through_noise_in_x() {
        let noise = |n: usize| ((n * 7919 + 13) % 101) as f64 / 5.0 - 10.0;
        let points: Vec<(f64, f64, f64)> =
            (0..101).map(|n| (n as f64 / 4.0 + noise(n), 1.0 + 3.0 * n as f64 / 4.0, n as f64 / 4.0)).collect();
        let (intercept, slope) = instrumental_line(&points);
        assert!((slope - 3.0).abs() < 0.15 && (intercept - 1.0).abs() < 2.0, "{intercept} {slope}");
        let flattened = LeastSquaresLine::through(&points.iter().map(|(x, y, _)| (*x, *y)).collect::<Vec<_>>()).unwrap();
        assert!(flattened.slope < 2.0, "{}", flattened.slope);
    }
}
