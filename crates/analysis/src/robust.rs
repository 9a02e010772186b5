//! Statistics that a few outliers do not move.

/// The middle value; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value at a share of the sorted values, the lower one where it falls between two; 0 of nothing.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64) as usize).copied().unwrap_or(0.0)
}

/// Distance between the quartiles.
pub(crate) fn spread(values: &[f64]) -> f64 {
    quantile(values, 0.75) - quantile(values, 0.25)
}

/// Slope per value and the line's height at the first: the median of the slopes between all pairs (Theil 1950, Sen 1968).
pub(crate) fn line(values: &[f64]) -> (f64, f64) {
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs.map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
    let slope = median(&slopes);
    let heights: Vec<f64> = values.iter().enumerate().map(|(index, value)| value - slope * index as f64).collect();
    (slope, median(&heights))
}

/// What values usually are, and from which one on a value is slow: so many times the usual, and by so much.
pub(crate) fn usual_and_slow(values: &[f64], times: f64, by: f64) -> (f64, f64) {
    let usual = median(values);
    (usual, f64::max(times * usual, usual + by))
}

/// Interval of a share in which `hits` of `all` were counted, at 95 % (Wilson 1927).
pub(crate) fn share_interval(hits: u64, all: u64) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (all as f64, 1.96_f64);
    let p = hits as f64 / n;
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    // Both are exact there, but for the last digit of the computer's.
    (if hits == 0 { 0.0 } else { (centre - half).max(0.0) }, if hits == all { 1.0 } else { (centre + half).min(1.0) })
}

/// The same in words, as the tables of docs/ have it: `95.6 % (92.3–97.5)`.
#[cfg(test)]
pub(crate) fn share_in_words(hits: u64, all: u64) -> String {
    let (low, high) = share_interval(hits, all);
    format!("{:.1} % ({:.1}–{:.1})", 100.0 * hits as f64 / all.max(1) as f64, 100.0 * low, 100.0 * high)
}

/// Which of the tests made are no chance, if such a share of the discoveries may be false (Benjamini & Hochberg 1995).
pub(crate) fn discoveries(p_values: &[f64], share: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let made = sorted.len() as f64;
    let allowed = |(rank, p_value): (usize, &f64)| (*p_value <= (rank + 1) as f64 / made * share).then_some(*p_value);
    let limit = sorted.iter().enumerate().filter_map(allowed).fold(-1.0, f64::max);
    p_values.iter().map(|p_value| *p_value <= limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_line_ignore_an_outlier() {
        assert_eq!(median(&[3.0, 1.0, 1e9, 2.0, 2.5]), 2.5);
        let mut values: Vec<f64> = (0..20).map(|n| 5.0 + 2.0 * f64::from(n)).collect();
        values[7] = 1e9;
        assert_eq!(line(&values), (2.0, 5.0));
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Worked example: 10 of 100.
        let (low, high) = share_interval(10, 100);
        assert!((low - 0.0552).abs() < 1e-3 && (high - 0.1744).abs() < 1e-3, "{low} {high}");
        let (low, high) = share_interval(0, 100);
        assert!(low == 0.0 && (high - 0.037).abs() < 1e-3, "{high}");
        // None and all are ends, whatever the last digit says.
        assert!((1..400).all(|all| share_interval(0, all).0 == 0.0 && share_interval(all, all).1 == 1.0));
    }
}
