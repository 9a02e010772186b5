//! The interval of a share that was counted.

use super::Z_95;

/// The 95 % interval of a share of which `hits` of `all` were counted (Wilson, "Probable inference, the law of succession, and statistical inference",
/// 1927).
pub(crate) fn wilson_interval(hits: u64, all: u64) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (all as f64, Z_95);
    let p = hits as f64 / n;
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    // With no hits or only hits one end is exact. The formula may miss it in the last digit.
    (if hits == 0 { 0.0 } else { (centre - half).max(0.0) }, if hits == all { 1.0 } else { (centre + half).min(1.0) })
}

/// The share and its interval as the tables in docs/ print them: `95.6 % (92.3–97.5)`.
#[cfg(test)]
pub(crate) fn share_in_words(hits: u64, all: u64) -> String {
    let (low, high) = wilson_interval(hits, all);
    format!("{:.1} % ({:.1}–{:.1})", 100.0 * hits as f64 / all.max(1) as f64, 100.0 * low, 100.0 * high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Worked example: 10 of 100.
        let (low, high) = wilson_interval(10, 100);
        assert!((low - 0.0552).abs() < 1e-3 && (high - 0.1744).abs() < 1e-3, "{low} {high}");
        let (low, high) = wilson_interval(0, 100);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{high}");
        assert!((1..400).all(|all| wilson_interval(0, all).0 == 0.0 && wilson_interval(all, all).1 == 1.0));
    }
}
