//! Whether requests leave at an even pace: by their number per second, regardless of their times.

use crate::statistics::{gamma_quantile, mean, population_variance};

/// Variance over mean of the counts per second up to which the pace is even. Independent events have 1.
pub(super) const EVEN_DISPERSION_MAX: f64 = 0.10;
/// Mean count that the dispersion needs.
const MEAN_COUNT_MIN: f64 = 10.0;

/// Seconds over which counts are summed at most. Callers that take turns make more calls in one second than in the next, and equally many over a few seconds.
/// Sums of independent calls vary as much as single seconds.
const TURN_SECONDS_MAX: usize = 5;
/// Such sums that the dispersion needs.
const SUMS_MIN: usize = 8;

/// Standard deviations below the expected variance from which counts are more even than chance: one in a thousand.
const EVEN_Z: f64 = -3.09;
/// Requests in service at a time below which no place is in use all the time: 1, less an allowance for the times.
pub(super) const PLACES_MAX: f64 = 0.7;

/// The part of an expected variance below which that of so many counts is not by chance: χ² over its degrees of freedom.
pub(super) fn even_variance_part(counts: usize) -> f64 {
    let freedom = (counts - 1) as f64;
    2.0 * gamma_quantile(freedom / 2.0, EVEN_Z) / freedom
}

/// How much counts per second vary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evenness {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    seconds: usize,
}

/// Standard deviations of chance beyond which a variance differs: one in a hundred.
const VARIANCE_DEVIATIONS_MIN: f64 = 2.33;

impl Evenness {
    /// `None`: too few counts.
    pub(crate) fn of(counts: &[f64], seconds_min: usize) -> Option<Self> {
        let (mean, deviation) = (mean(counts), population_variance(counts).sqrt());
        (counts.len() >= seconds_min && mean >= MEAN_COUNT_MIN).then_some(Self { mean, deviation, seconds: counts.len() })
    }

    /// Of the sums over the fewest seconds for which the pace is even, and how many seconds these are. `None`: too few counts, or no even pace.
    pub(crate) fn over_turns(counts: &[f64], seconds_min: usize) -> Option<(Self, usize)> {
        (1..=TURN_SECONDS_MAX).filter(|_| counts.len() >= seconds_min).find_map(|seconds| {
            let sums: Vec<f64> = counts.chunks_exact(seconds).map(|turn| turn.iter().sum()).collect();
            Some((Self::of(&sums, SUMS_MIN).filter(Self::is_even)?, seconds))
        })
    }

    /// Whether the pace is less even, beyond chance, than that of a limiter whose requests then take varying times. Two times with a standard deviation of
    /// `scatter_s` differ by 2/√3 of it on average at most, and that part of a second's requests falls into another second. The quantile of chi-squared is that
    /// of Wilson and Hilferty ("The distribution of chi-square", 1931).
    pub(crate) fn is_beyond_a_rate(&self, scatter_s: f64) -> bool {
        let part = 2.0 / (9.0 * (self.seconds.max(2) - 1) as f64);
        let by_chance = (1.0 - part + VARIANCE_DEVIATIONS_MIN * part.sqrt()).powi(3);
        self.deviation.powi(2) > by_chance * (EVEN_DISPERSION_MAX + 2.0 / 3.0_f64.sqrt() * scatter_s) * self.mean
    }

    pub(crate) fn is_even(&self) -> bool {
        self.dispersion() <= EVEN_DISPERSION_MAX
    }

    /// Variance over mean of the counts.
    pub(crate) fn dispersion(&self) -> f64 {
        self.deviation.powi(2) / self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirty callers with turns of 0.4 s: five calls in two seconds, two or three in one second.
    #[test]
    fn turns_that_do_not_divide_a_second_are_even_over_several() {
        let calls = [71.0, 79.0].repeat(10);
        assert!(!Evenness::of(&calls, 15).unwrap().is_even());
        let (even, seconds) = Evenness::over_turns(&calls, 15).unwrap();
        assert_eq!((even.mean, even.deviation, seconds), (150.0, 0.0, 2));
        assert!(Evenness::over_turns(&calls[..14], 15).is_none());
    }

    #[test]
    fn independent_calls_are_even_over_no_number_of_seconds() {
        // A Poisson process of 75 a second (variance = mean).
        let calls =
            [70.0, 81.0, 66.0, 78.0, 84.0, 75.0, 62.0, 73.0, 88.0, 79.0, 69.0, 71.0, 90.0, 77.0, 64.0, 72.0, 83.0, 68.0, 76.0, 80.0];
        assert!(Evenness::over_turns(&calls, 15).is_none());
    }
}
