//! The seconds at the start of a block before the system has settled.
//!
//! MSER (White, "An effective truncation heuristic for bias reduction in simulation output", 1997): excludes the number of seconds that
//! minimises the error of the mean of the rest. An optimum in the second half means that the block never settled.

use crate::statistics::{mean, population_variance};

/// The first second is always excluded, because connections are opened in it.
const WARM_UP_SECONDS_MIN: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WarmUp {
    pub(super) seconds: usize,
    /// The numbers had not settled at the end of the block.
    pub(super) never_settles: bool,
}

/// The longest warm-up of these blocks; each has one number per second.
pub(super) fn of_blocks(blocks: &[Vec<f64>]) -> WarmUp {
    let longest = blocks.iter().map(|block| mser(block)).max().unwrap_or(0);
    let half = blocks.iter().map(|block| block.len() / 2).min().unwrap_or(0);
    let never_settles = blocks.iter().any(|block| mser(block) == block.len() / 2 && grows(block));
    WarmUp { seconds: longest.clamp(WARM_UP_SECONDS_MIN, half.max(WARM_UP_SECONDS_MIN)), never_settles }
}

fn mser(seconds: &[f64]) -> usize {
    let error = |from: usize| {
        let rest = &seconds[from..];
        population_variance(rest) / rest.len() as f64
    };
    (0..=seconds.len() / 2).min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap_or(0)
}

/// The numbers had not settled in the second half: its quarters differ by a fifth.
fn grows(seconds: &[f64]) -> bool {
    let (half, quarter) = (seconds.len() / 2, seconds.len() / 4);
    let (before, last) = (&seconds[half..seconds.len() - quarter], &seconds[seconds.len() - quarter..]);
    quarter > 0 && (mean(last) - mean(before)).abs() > 0.2 * mean(before).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_is_excluded_and_a_steady_block_is_not() {
        let steady = vec![1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01];
        let mut slow = steady.clone();
        slow[..3].copy_from_slice(&[9.0, 5.0, 2.0]);
        assert_eq!(of_blocks(std::slice::from_ref(&steady)), WarmUp { seconds: 1, never_settles: false });
        assert_eq!(of_blocks(&[steady, slow]), WarmUp { seconds: 3, never_settles: false });
    }

    #[test]
    fn a_queue_that_grows_until_the_end_never_settles() {
        let grows: Vec<f64> = (0..10).map(|second| 1.0 + f64::from(second)).collect();
        assert_eq!(of_blocks(&[grows]), WarmUp { seconds: 5, never_settles: true });
        assert_eq!(of_blocks(&[]).seconds, 1);
    }
}
