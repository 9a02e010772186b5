//! Many numbers are compared at once, and chance alone makes some of them stand out.

use crate::statistics::discoveries;

/// Of what is called different, the share expected not to be. As low as this, two runs of one system are called different once in a hundred times.
pub(super) const FALSE_SHARE: f64 = 0.01;

/// Which of the probabilities are small enough, of so many, that at most [`FALSE_SHARE`] of those picked is expected to be picked by chance (Benjamini and
/// Hochberg, "Controlling the False Discovery Rate", 1995). The rows of one request rise and fall together; Benjamini and Yekutieli (2001) show that this
/// kind of dependence leaves the promise standing.
pub(super) fn different(p: &[f64]) -> Vec<bool> {
    discoveries(p, FALSE_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fifteen probabilities of the worked example in Benjamini and Hochberg's article, a fifth as large as their share is (1 % for 5 %): the same four
    /// are picked.
    #[test]
    fn the_published_example() {
        let published =
            [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0];
        let picked = different(&published.map(|p| p / 5.0));
        assert_eq!(picked.iter().filter(|picked| **picked).count(), 4);
        assert!(picked[3] && !picked[4]);
        assert_eq!(different(&[]), [] as [bool; 0]);
        assert_eq!(different(&[0.02]), [false]);
    }
}
