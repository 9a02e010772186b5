//! The buckets of classic histograms.

/// Upper bounds of classic histograms, as exponents of √2 over seconds: 2⁻¹¹ s (0.49 ms) to 2⁶ s (64 s).
const BOUNDS: std::ops::RangeInclusive<i32> = -22..=12;

/// Seconds.
pub(super) fn bounds() -> impl Iterator<Item = f64> {
    BOUNDS.map(|half| 2f64.powf(f64::from(half) / 2.0))
}

/// The number of values at or below a bound in seconds.
pub(super) fn below(histogram: &loadstone_metrics::Histogram, bound: f64) -> u64 {
    histogram.count_at_or_below((bound * 1e9) as u64)
}

/// As the label `le`.
pub(super) fn bound_text(bound: f64) -> String {
    if bound.is_infinite() { "+Inf".to_owned() } else { format!("{bound:.6}").trim_end_matches('0').trim_end_matches('.').to_owned() }
}
