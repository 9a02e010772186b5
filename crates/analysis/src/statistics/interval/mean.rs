//! The mean of a series of values, with its interval.

use crate::statistics::{mean, student_t, variance};

/// The mean and half of its 95 % interval, by batch means (Law and Carson, "A sequential procedure for determining the length of a steady-state simulation",
/// 1979). Stretches of five values depend on each other less than neighbouring values do. Half the interval is infinite with fewer than three stretches.
pub(crate) fn mean_of_batches(values: &[f64]) -> (f64, f64) {
    const BATCH: usize = 5;
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    let m = batches.len() as f64;
    let half = if m < 3.0 { f64::INFINITY } else { student_t(m - 1.0) * (variance(&batches) / m).sqrt() };
    (mean(values), half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: batches of means 1, 2 and 3 have the variance 1, and t of two degrees of freedom is 4.303.
    #[test]
    fn three_batches_by_hand() {
        let values: Vec<f64> = [1.0, 2.0, 3.0].into_iter().flat_map(|level| [level - 1.0, level, level, level, level + 1.0]).collect();
        let (mean, half) = mean_of_batches(&values);
        assert!(mean == 2.0 && (half - 4.303 / 3.0_f64.sqrt()).abs() < 1e-12, "{mean} {half}");
        assert_eq!(mean_of_batches(&values[..14]).1, f64::INFINITY);
    }
}
