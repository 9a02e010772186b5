//! The order-statistic interval: exact for independent samples, too narrow where they share a queue.

use loadstone_metrics::Histogram;

use crate::statistics::Z_95;

/// The samples of rank ⌊nq − 1.96·√(nq(1−q))⌋ and ⌈nq + 1.96·√(nq(1−q))⌉ + 1 (Kogias, Mallon and Bugnion, "Lancet: A self-correcting latency measuring tool",
/// USENIX ATC 2019). Seconds. An end whose rank lies outside the samples is `None`.
pub(crate) fn interval(merged: &Histogram, quantile: f64) -> (Option<f64>, Option<f64>) {
    let n = merged.count() as f64;
    let half = Z_95 * (n * quantile * (1.0 - quantile)).sqrt();
    let (low, high) = ((n * quantile - half).floor(), (n * quantile + half).ceil() + 1.0);
    let at = |rank: f64| (rank >= 1.0 && rank <= n).then(|| merged.value_at_rank(rank as u64) as f64 / 1e9);
    (at(low), at(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_known_list() {
        let mut histogram = Histogram::new();
        (1..=400).for_each(|value| histogram.record(value));
        // 200 ± 1.96·10: ranks 180 and 221, exact within the histogram's resolution.
        assert_eq!(interval(&histogram, 0.5), (Some(180e-9), Some(221e-9)));
        assert_eq!(interval(&histogram, 0.999).1, None);
    }
}
