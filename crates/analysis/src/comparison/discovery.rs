//! Correction for many comparisons: chance alone makes some of many numbers significant.

use crate::statistics::discoveries;

/// Expected share of false positives among the rows reported as different. With this value, one in a hundred comparisons of two runs of the
/// same system reports a difference.
pub(super) const FALSE_SHARE: f64 = 0.01;

/// Selects the probabilities that are small enough among this many, so that at most [`FALSE_SHARE`] of the selected ones are expected to be
/// due to chance (Benjamini and Hochberg, "Controlling the False Discovery Rate", 1995). The rows of one request rise and fall together.
/// Benjamini and Yekutieli (2001) prove that the bound also holds for this kind of dependence.
pub(super) fn different(p: &[f64]) -> Vec<bool> {
    discoveries(p, FALSE_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fifteen probabilities of the worked example in Benjamini and Hochberg's article, divided by five because the share is 1 %
    /// instead of 5 %: the same four are selected.
    #[test]
    fn the_published_example() {
        let published =
            [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0];
        let selected = different(&published.map(|p| p / 5.0));
        assert_eq!(selected.iter().filter(|selected| **selected).count(), 4);
        assert!(selected[3] && !selected[4]);
        assert_eq!(different(&[]), [] as [bool; 0]);
        assert_eq!(different(&[0.02]), [false]);
    }
}
