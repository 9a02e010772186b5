//! Counts of independent events, without the normal distribution: few events are enough.

use super::Z_95;

/// The 95 % interval of the mean of a Poisson distribution of which one count is known (Garwood, "Fiducial limits for the Poisson distribution", 1936), as χ²
/// quantiles by [`gamma_quantile`].
pub(crate) fn poisson_interval(count: f64) -> (f64, f64) {
    (gamma_quantile(count, -Z_95), gamma_quantile(count + 1.0, Z_95))
}

/// The quantile of a gamma distribution with scale 1, given as a quantile of the normal distribution (Wilson and Hilferty, "The distribution of chi-square",
/// 1931). The error is below 1 % from a shape of 5 on. 0 where the approximation has none.
pub(crate) fn gamma_quantile(shape: f64, z: f64) -> f64 {
    if shape <= 0.0 {
        return 0.0;
    }
    shape * (1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt())).max(0.0).powi(3)
}

/// The probability of so many events or more, where the mean is known.
pub(crate) fn poisson_at_least(count: f64, mean: f64) -> f64 {
    // On logarithms: the first term of a large mean is too small for a number.
    let terms = (0..count.ceil().max(0.0) as u64).scan(-mean, |log, number| {
        let now = *log;
        *log += (mean / (number as f64 + 1.0)).ln();
        Some(now.exp())
    });
    (1.0 - terms.sum::<f64>()).max(0.0)
}

/// The probability of so many successes or more, of so many trials.
pub(crate) fn binomial_at_least(successes: u64, trials: u64, chance: f64) -> f64 {
    let terms = (0..=trials).scan(trials as f64 * (1.0 - chance).ln(), |log, count| {
        let now = *log;
        *log += ((trials - count) as f64 / (count as f64 + 1.0) * chance / (1.0 - chance)).ln();
        Some((count, now.exp()))
    });
    terms.filter(|(count, _)| *count >= successes).map(|(_, term)| term).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Garwood's table: 10 events have a mean of 4.795 to 18.39.
    #[test]
    fn the_interval_of_few_events_is_that_of_the_table() {
        let (low, high) = poisson_interval(10.0);
        assert!((low / 4.795 - 1.0).abs() < 0.01 && (high / 18.39 - 1.0).abs() < 0.01, "{low} {high}");
        assert_eq!(poisson_interval(0.0).0, 0.0);
    }

    #[test]
    fn tails_are_those_of_the_closed_forms() {
        // 1 - e⁻¹ (1 + 1 + 1/2), and 0.4⁴.
        assert!((poisson_at_least(3.0, 1.0) - 0.080_301).abs() < 1e-5 && (binomial_at_least(4, 4, 0.4) - 0.0256).abs() < 1e-9);
        assert!((binomial_at_least(1, 2, 0.5) - 0.75).abs() < 1e-9);
    }

    /// Near the mean, about half. A start at the first term alone would be 0.
    #[test]
    fn tails_of_large_counts_are_known() {
        for half in [binomial_at_least(10_000, 100_000, 0.1), poisson_at_least(5_000.0, 5_000.0)] {
            assert!((half - 0.5).abs() < 0.01, "{half}");
        }
        assert!(binomial_at_least(11_000, 100_000, 0.1) < 1e-6 && binomial_at_least(9_000, 100_000, 0.1) > 1.0 - 1e-6);
    }
}
