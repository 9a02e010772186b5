//! Mean and variance.

/// The arithmetic mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The unbiased variance of a sample, which divides by n − 1 (Student, "The probable error of a mean", 1908); 0 with fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    sum_of_squares(values) / (values.len() as f64 - 1.0).max(1.0)
}

/// The variance of exactly these values, which divides by n; 0 without values.
pub(crate) fn population_variance(values: &[f64]) -> f64 {
    sum_of_squares(values) / values.len().max(1) as f64
}

/// Of the distances from the mean.
fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the mean of 2, 4, 4, 4, 5, 5, 7, 9 is 5, and the squared distances from it add up to 32.
    #[test]
    fn mean_and_variances_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!((mean(&values), population_variance(&values)), (5.0, 4.0));
        assert!((variance(&values) - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!((mean(&[]), variance(&[]), population_variance(&[])), (0.0, 0.0, 0.0));
        assert_eq!((variance(&[3.0]), population_variance(&[3.0])), (0.0, 0.0));
    }
}
