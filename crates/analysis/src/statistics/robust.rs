//! Statistics that a few outliers do not move.

/// The middle value, the lower one of two; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value at a share of the sorted values, the lower one where the share falls between two; 0 without values.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64) as usize).copied().unwrap_or(0.0)
}

/// The value that a tenth of the values lie below; `None` without values.
pub(crate) fn best_tenth(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 10).copied()
}

/// The value nearest to a share of values that are sorted already; infinite without values.
pub(crate) fn nearest_of_sorted(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::INFINITY)
}

/// The distance between the quartiles.
pub(crate) fn interquartile_range(values: &[f64]) -> f64 {
    quantile(values, 0.75) - quantile(values, 0.25)
}

/// The median distance from the median, scaled to the standard deviation of normal values: 1/Φ⁻¹(3/4) = 1.4826 (Hampel, "The influence curve and its role
/// in robust estimation", 1974).
pub(crate) fn median_deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    1.4826 * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<f64>>())
}

/// The usual value, and the value from which one counts as slow: `factor` times the usual value, and at least `by` more than it.
pub(crate) fn slow_threshold(values: &[f64], factor: f64, by: f64) -> (f64, f64) {
    let usual = median(values);
    (usual, f64::max(factor * usual, usual + by))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither_median_nor_deviation() {
        assert_eq!(median(&[3.0, 1.0, 1e9, 2.0, 2.5]), 2.5);
        // Distances from 3: 2, 1, 0, 1, 997.
        assert_eq!(median_deviation(&[1.0, 2.0, 3.0, 4.0, 1_000.0]), 1.4826);
        assert_eq!((median(&[]), interquartile_range(&[])), (0.0, 0.0));
    }

    #[test]
    fn quantiles_of_a_known_list() {
        let values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!((quantile(&values, 0.0), quantile(&values, 0.25), quantile(&values, 1.0)), (0.0, 2.0, 10.0));
        assert_eq!(interquartile_range(&values), 5.0);
        assert_eq!((best_tenth(&values), best_tenth(&[])), (Some(1.0), None));
        let sorted: Vec<f64> = (0..=10).map(f64::from).collect();
        assert_eq!((nearest_of_sorted(&sorted, 0.26), nearest_of_sorted(&[], 0.5)), (3.0, f64::INFINITY));
    }
}
