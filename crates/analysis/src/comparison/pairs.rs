//! The error of the change of a mean or a share, for two runs with the same changing load. The load has the same effect on a second in both
//! runs, so only the remaining differences between their seconds are random.

use super::blocks::{self, SECONDS_MIN};
use super::change::ChangeErrors;
use crate::statistics::freedom_by_kurtosis;

/// Number of consecutive parts of the runs, or fewer if there are fewer seconds.
pub(super) const PARTS: usize = 60;
/// Upper bound for the correlation of neighbouring parts.
const CORRELATION_MAX: f64 = 0.95;

/// The error of the logarithm of the ratio of two ratios of sums. The input is one pair for every second of the same load: the sum and its
/// divisor. `None`: too short, or nothing to divide by.
pub(super) fn ratio(baseline: &[(f64, f64)], candidate: &[(f64, f64)]) -> Option<ChangeErrors> {
    let spread = paired(baseline, candidate, |sum, by| (sum > 0.0 && by > 0.0).then_some(sum))?;
    Some(ChangeErrors::even(spread.error(), spread.freedom()))
}

/// The error of the difference of two shares, at least that of independent failures.
pub(super) fn share(baseline: &[(f64, f64)], candidate: &[(f64, f64)]) -> Option<ChangeErrors> {
    let spread = paired(baseline, candidate, |_, by| (by > 0.0).then_some(by))?;
    let independent = blocks::error_of_independent(baseline).hypot(blocks::error_of_independent(candidate));
    let by_parts = ChangeErrors::even(spread.error(), spread.freedom());
    Some(by_parts.or_wider(ChangeErrors::even(independent, spread.parts() - 1.0)))
}

/// The seconds for which either run has data, from the first to the last.
pub(super) fn used(seconds: usize, is_used: impl Fn(usize) -> bool) -> Option<std::ops::Range<usize>> {
    let (from, to) = ((0..seconds).find(|second| is_used(*second))?, (0..seconds).rfind(|second| is_used(*second))? + 1);
    (to - from >= SECONDS_MIN).then_some(from..to)
}

/// Two ratio estimators with paired units (Cochran, *Sampling Techniques*, 1977, chapter 6, on comparing two ratios). `scale`: the divisor
/// of the deviation of a sum.
fn paired(baseline: &[(f64, f64)], candidate: &[(f64, f64)], scale: impl Fn(f64, f64) -> Option<f64>) -> Option<PairSpread> {
    let used = used(baseline.len(), |second| baseline[second].1 > 0.0 || candidate[second].1 > 0.0)?;
    let deviations = |seconds: &[(f64, f64)]| {
        let (sum, by) = seconds.iter().fold((0.0, 0.0), |(sum, by), second| (sum + second.0, by + second.1));
        let scale = scale(sum, by)?;
        Some(in_parts(seconds[used.clone()].iter().map(|(part, of)| (part - sum / by * of) / scale)))
    };
    Some(PairSpread::of(&deviations(baseline)?, &deviations(candidate)?))
}

fn in_parts(seconds: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let length = seconds.len();
    let count = PARTS.min(length);
    let mut parts = vec![0.0; count];
    seconds.enumerate().for_each(|(index, second)| parts[index * count / length] += second);
    parts
}

/// How much the parts of two runs differ from each other, apart from the difference between the whole runs.
pub(super) struct PairSpread {
    deviations: Vec<f64>,
    squares: f64,
    fourths: f64,
}

impl PairSpread {
    /// From the deviation of each part of either run.
    pub(super) fn of(baseline: &[f64], candidate: &[f64]) -> Self {
        let deviations: Vec<f64> = candidate.iter().zip(baseline).map(|(new, old)| new - old).collect();
        let power = |exponent| deviations.iter().map(|deviation: &f64| deviation.powi(exponent)).sum();
        Self { squares: power(2), fourths: power(4), deviations }
    }

    fn parts(&self) -> f64 {
        self.deviations.len() as f64
    }

    /// The standard error of the sum over all parts, widened as for an autoregressive series if a part resembles the next. A correlation
    /// estimated from m parts is too low by (1 + 4ρ)/m (Marriott and Pope, "Bias in the estimation of autocorrelations", 1954). Only parts
    /// that contribute to the sum count: at the top of a ramp, a few parts may vary more than all others.
    pub(super) fn error(&self) -> f64 {
        if self.squares <= 0.0 {
            return 0.0;
        }
        // The number of normal parts that would have this kurtosis.
        let counting = (3.0 * self.squares * self.squares / self.fourths).min(self.parts());
        let products: f64 = self.deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let seen = products / self.squares;
        let correlation = (seen + (1.0 + 4.0 * seen.max(0.0)) / counting).clamp(0.0, CORRELATION_MAX);
        (self.squares * (1.0 + correlation) / (1.0 - correlation) * self.parts() / (self.parts() - 1.0)).sqrt()
    }

    pub(super) fn freedom(&self) -> f64 {
        freedom_by_kurtosis(&self.deviations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty seconds in which times grow about a hundredfold with the load. `waver`: relative deviation of a second.
    fn rising(factor: f64, waver: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        (0..60).map(|second| (factor * (1.0 + second as f64 * 0.15).powi(2) * (1.0 + waver(second)), 10.0)).collect()
    }

    #[test]
    fn effects_in_both_runs_are_no_random_variation() {
        let spread = |candidate: &[(f64, f64)]| paired(&rising(1.0, |_| 0.0), candidate, |sum, _| Some(sum)).unwrap();
        // Each second took 50 % longer.
        assert!(spread(&rising(1.5, |_| 0.0)).error() < 1e-12);
        // Each second deviates by a tenth, independently. √Σw² / Σw, where the weights w are the growing values, gives 0.017.
        let varying = spread(&rising(1.0, |second| if (second * second / 7).is_multiple_of(2) { 0.1 } else { -0.1 }));
        assert!((0.014..0.03).contains(&varying.error()), "{}", varying.error());
    }

    #[test]
    fn a_few_varying_parts_give_few_degrees_of_freedom() {
        let freedom = |varying: usize| {
            let parts: Vec<f64> = (0..60).map(|part| if part < 60 - varying { 0.0 } else { [1.0, -0.4, 0.2, -0.8][part % 4] }).collect();
            PairSpread::of(&[0.0; 60], &parts).freedom()
        };
        assert_eq!(freedom(4), 3.0);
        assert!(freedom(20) > 10.0 && freedom(60) > freedom(20), "{} and {}", freedom(20), freedom(60));
    }

    #[test]
    fn correlated_parts_give_a_larger_error() {
        let waves = |length: usize| move |second: usize| if (second / length).is_multiple_of(2) { 0.1 } else { -0.1 };
        let error = |length| paired(&rising(1.0, |_| 0.0), &rising(1.0, waves(length)), |sum, _| Some(sum)).unwrap().error();
        assert!(error(10) > 2.0 * error(1), "{} and {}", error(10), error(1));
    }

    #[test]
    fn no_failure_is_not_certainty_and_too_few_seconds_give_no_error() {
        let clean = share(&[(0.0, 100.0); 30], &[(0.0, 100.0); 30]).unwrap();
        let independent = blocks::error_of_independent(&[(0.0, 100.0); 30]) * 2.0_f64.sqrt();
        assert_eq!(clean, ChangeErrors::even(independent, 29.0));
        assert_eq!(ratio(&[(1.0, 1.0); 9], &[(1.0, 1.0); 9]), None);
        assert_eq!(ratio(&[(0.0, 1.0); 30], &[(1.0, 1.0); 30]), None);
    }
}
