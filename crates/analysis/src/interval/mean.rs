//! The mean of a series of values, with its interval.

use super::batch::student_t;

/// Mean and half of its 95 % interval, from the means of stretches of five values: neighbours in time resemble each other. The half is infinite
/// with fewer than three stretches.
pub(crate) fn mean_of_batches(values: &[f64]) -> (f64, f64) {
    const BATCH: usize = 5;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let m = batches.len() as f64;
    if m < 3.0 {
        return (mean, f64::INFINITY);
    }
    let centre = batches.iter().sum::<f64>() / m;
    let variance = batches.iter().map(|batch| (batch - centre).powi(2)).sum::<f64>() / (m - 1.0);
    (mean, student_t(m - 1.0) * (variance / m).sqrt())
}
