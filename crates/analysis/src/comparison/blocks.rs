//! Means over a run with their errors.

use super::change::Estimate;

/// Numbers of consecutive blocks of a run, the largest first. More blocks give a more certain variance, as long as they are not correlated.
const BLOCK_COUNTS: [usize; 3] = [60, 30, 20];
/// Minimum length of a block, unless there are only the fewest blocks.
const BLOCK_SECONDS_MIN: usize = 5;
/// A shorter run has too few blocks to compare.
pub(super) const SECONDS_MIN: usize = 10;
/// Upper bound for the factor by which correlated blocks widen the variance.
const INFLATION_MAX: f64 = 6.0;

/// The sum of the first numbers divided by the sum of the second, one pair for each second: requests by seconds, times by requests, CPU
/// seconds by requests. Its error is estimated from the differences between blocks of seconds (the ratio estimator; Cochran, *Sampling
/// Techniques*, 1977, 6.4), widened where a block resembles the next. Without an interval if the run is too short; `None` if there is
/// nothing to divide by.
pub(super) fn ratio_of_sums(seconds: &[(f64, f64)]) -> Option<Estimate> {
    let (sum, by) = seconds.iter().fold((0.0, 0.0), |(sum, by), second| (sum + second.0, by + second.1));
    if by <= 0.0 {
        return None;
    }
    let value = sum / by;
    if seconds.len() < SECONDS_MIN {
        return Some(Estimate::bare(value));
    }
    let (error, freedom) = error_of_sum(seconds, value);
    Some(Estimate::with_error(value, error / by, freedom))
}

/// The standard error of the sum, and its degrees of freedom: from the largest number of blocks that are not visibly correlated (the test
/// of batch means; Law and Carson, "A sequential procedure for determining the length of a steady-state simulation", 1979), otherwise from
/// the fewest.
fn error_of_sum(seconds: &[(f64, f64)], value: f64) -> (f64, f64) {
    let fewest = BLOCK_COUNTS[BLOCK_COUNTS.len() - 1];
    let fitting = BLOCK_COUNTS.into_iter().filter(|count| *count == fewest || count * BLOCK_SECONDS_MIN <= seconds.len());
    let spreads = fitting.map(|count| BlockSpread::of(seconds, value, count.min(seconds.len())));
    let mut last = BlockSpread { blocks: 1.0, squares: 0.0, correlation: 0.0 };
    for spread in spreads {
        last = spread;
        if last.is_independent() {
            break;
        }
    }
    (last.error(), last.blocks - 1.0)
}

/// How much blocks differ from their expected share of the whole run.
struct BlockSpread {
    blocks: f64,
    squares: f64,
    /// The correlation of neighbours, corrected for the bias of so few (−1/m; Marriott and Pope 1954).
    correlation: f64,
}

impl BlockSpread {
    fn of(seconds: &[(f64, f64)], value: f64, count: usize) -> Self {
        let mut deviations = vec![0.0; count];
        for (index, (part, of)) in seconds.iter().enumerate() {
            deviations[index * count / seconds.len()] += part - value * of;
        }
        let squares: f64 = deviations.iter().map(|d| d * d).sum();
        let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = if squares > 0.0 { products / squares + 1.0 / count as f64 } else { 0.0 };
        Self { blocks: count as f64, squares, correlation }
    }

    /// The correlation is smaller than its own error.
    fn is_independent(&self) -> bool {
        self.correlation < 1.0 / self.blocks.sqrt()
    }

    fn error(&self) -> f64 {
        let inflation = (1.0 + 2.0 * self.correlation.max(0.0)).min(INFLATION_MAX);
        (self.squares * inflation * self.blocks / (self.blocks - 1.0).max(1.0)).sqrt()
    }
}

/// The share of `failed` in `count`. If few fail, blocks are poor evidence of the error: it is at least that of independent failures, with
/// one failure and one success added (Agresti and Caffo, "Simple and effective confidence intervals for proportions", 2000), so that zero
/// of a hundred is less certain than zero of a million.
pub(super) fn share(seconds: &[(f64, f64)]) -> Option<Estimate> {
    let blocks = ratio_of_sums(seconds)?;
    let least = Estimate::with_error(blocks.value, error_of_independent(seconds), blocks.freedom);
    let end = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| a.zip(b).map(|(a, b)| of(a, b)).or(b);
    Some(Estimate { low: end(blocks.low, least.low, f64::min), high: end(blocks.high, least.high, f64::max), ..blocks })
}

/// The standard error of a share of independent failures, with one failure and one success added.
pub(super) fn error_of_independent(seconds: &[(f64, f64)]) -> f64 {
    let (failed, count) = seconds.iter().fold((0.0, 0.0), |(failed, count), second| (failed + second.0, count + second.1));
    let shrunk = (failed + 1.0) / (count + 2.0);
    (shrunk * (1.0 - shrunk) / (count + 2.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(estimate: Estimate) -> f64 {
        estimate.high.unwrap() - estimate.value
    }

    #[test]
    fn the_error_grows_with_the_differences_between_blocks() {
        let steady: Vec<(f64, f64)> = (0..60).map(|_| (50.0, 1.0)).collect();
        assert_eq!(ratio_of_sums(&steady), Some(Estimate::with_error(50.0, 0.0, 19.0)));
        // Alternating seconds cancel within a block of four. A change that lasts for half of the run does not.
        let varying: Vec<(f64, f64)> = (0..80).map(|second| (if second % 2 == 0 { 40.0 } else { 60.0 }, 1.0)).collect();
        let stepped: Vec<(f64, f64)> = (0..80).map(|second| (if second < 40 { 40.0 } else { 60.0 }, 1.0)).collect();
        assert!(half(ratio_of_sums(&varying).unwrap()) < 1e-9);
        assert!(half(ratio_of_sums(&stepped).unwrap()) > 5.0);
        assert_eq!(ratio_of_sums(&[(1.0, 1.0); 5]), Some(Estimate::bare(1.0)));
        assert_eq!(ratio_of_sums(&[(1.0, 0.0); 50]), None);
    }

    /// The rule of three: with 0 of n, up to 3/n may fail.
    #[test]
    fn no_failure_is_not_certainty() {
        let clean = share(&[(0.0, 100.0); 30]).unwrap();
        assert_eq!(clean.value, 0.0);
        let high = clean.high.unwrap();
        assert!((0.5..1.5).contains(&(high / (3.0 / 3_000.0))), "{high}");
    }
}
