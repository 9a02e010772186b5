//! Prometheus: pushed by remote write, and served for scraping.

mod proto;
mod remote;
mod scrape;
mod text;

pub(crate) use remote::{Histograms, RemoteWrite};
pub(crate) use scrape::Scrape;

/// Upper bounds of classic histograms, as exponents of √2 over seconds: 2⁻¹¹ s (0.49 ms) to 2⁶ s (64 s).
const BOUNDS: std::ops::RangeInclusive<i32> = -22..=12;

/// Seconds.
fn bounds() -> impl Iterator<Item = f64> {
    BOUNDS.map(|half| 2f64.powf(f64::from(half) / 2.0))
}

/// How many values are not above a bound in seconds.
fn below(histogram: &metrics::Histogram, bound: f64) -> u64 {
    histogram.count_at_or_below((bound * 1e9) as u64)
}
