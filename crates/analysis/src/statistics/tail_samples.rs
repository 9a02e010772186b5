//! How many samples a percentile needs.

/// From this quantile upward, a percentile is shown only where enough samples lie beyond it.
const GUARDED_FROM: f64 = 0.9;

/// Samples beyond a percentile that it needs: with fewer than ten, its 95 % order-statistic interval reaches from about half to more than twice its share of
/// the tail.
pub const SAMPLES_BEYOND_MIN: u64 = 10;

/// Samples beyond a percentile: those ranked above its nearest rank.
pub(crate) fn samples_beyond(count: u64, quantile: f64) -> u64 {
    count.saturating_sub((quantile * count as f64).ceil() as u64)
}

/// Samples that a percentile needs before it is shown: n(1 − q) ≥ 10 from p90 upward, 1 below.
pub fn samples_needed(quantile: f64) -> u64 {
    if quantile < GUARDED_FROM - 1e-9 { 1 } else { (SAMPLES_BEYOND_MIN as f64 / (1.0 - quantile) - 1e-6).ceil() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_percentile_needs_ten_samples_beyond_it() {
        for (quantile, needed) in [(0.5, 1), (0.75, 1), (0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000)] {
            assert_eq!(samples_needed(quantile), needed, "{quantile}");
        }
        assert_eq!((samples_beyond(100, 0.9), samples_beyond(99, 0.9), samples_beyond(0, 0.9)), (10, 9, 0));
    }
}
