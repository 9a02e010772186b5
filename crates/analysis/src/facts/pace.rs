//! What comes out at an even pace: by count, not by how long each takes.

/// Variance over mean of counts per second below which they come at an even pace; independent ones have 1.
const EVEN_MAX: f64 = 0.10;
/// Mean count that is needed to tell.
const MEAN_MIN: f64 = 10.0;

/// Counts per second that hardly vary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenPace {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl EvenPace {
    /// `None`: they vary, or are too few.
    pub(crate) fn of(counts: &[f64], seconds_min: usize) -> Option<Self> {
        let mean = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len().max(2) as f64;
        let is_even = counts.len() >= seconds_min && mean >= MEAN_MIN && variance <= EVEN_MAX * mean;
        is_even.then_some(Self { mean, deviation: variance.sqrt() })
    }
}
