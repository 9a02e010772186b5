//! What comes out at an even pace: by count, not by how long each takes.

/// Variance over mean of counts per second below which they come at an even pace; independent ones have 1.
const EVEN_MAX: f64 = 0.10;
/// Mean count that is needed to tell.
const MEAN_MIN: f64 = 10.0;

/// How much counts per second vary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evenness {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Evenness {
    /// `None`: too few to tell.
    pub(crate) fn of(counts: &[f64], seconds_min: usize) -> Option<Self> {
        let mean = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len().max(2) as f64;
        (counts.len() >= seconds_min && mean >= MEAN_MIN).then(|| Self { mean, deviation: variance.sqrt() })
    }

    pub(crate) fn is_even(&self) -> bool {
        self.deviation.powi(2) <= EVEN_MAX * self.mean
    }
}
