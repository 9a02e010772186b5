//! Many tests at once: chance alone makes some of them significant.

/// Which of the tests are discoveries, if no more than `false_share` of the discoveries may be false on average (Benjamini and Hochberg, "Controlling the
/// false discovery rate", 1995).
pub(crate) fn discoveries(p_values: &[f64], false_share: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let tests = sorted.len() as f64;
    let allowed = |(rank, p_value): (usize, &f64)| (*p_value <= (rank + 1) as f64 / tests * false_share).then_some(*p_value);
    let limit = sorted.iter().enumerate().filter_map(allowed).fold(-1.0, f64::max);
    p_values.iter().map(|p_value| *p_value <= limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fifteen probabilities of the worked example in the article, at its share of 5 %: the first four are discoveries.
    #[test]
    fn the_published_example() {
        let published =
            [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0];
        let found = discoveries(&published, 0.05);
        assert_eq!(found.iter().filter(|found| **found).count(), 4);
        assert!(found[3] && !found[4]);
        assert_eq!(discoveries(&[], 0.05), [] as [bool; 0]);
        assert_eq!(discoveries(&[0.06], 0.05), [false]);
    }
}
