//! A mean over rounds whose interval is valid at every check.
//!
//! An ordinary 95 % interval that is checked after every round, to stop as soon as it decides, is wrong far more often than once in twenty.
//! This one is valid at all rounds together: it consists of the means that a Bayes factor does not reject. The factor has a normal prior on
//! the effect in units of the scatter, and the right Haar measure on the scatter, which makes it an e-process for any scatter (Gönen et
//! al., "The Bayesian two-sample t test", 2005, for the formula; Hendriksen, de Heide and Grünwald, "Optional stopping with Bayes factors",
//! Bayesian Analysis 2021, and Pérez-Ortiz et al., "E-statistics, group invariance and anytime-valid testing", Annals of Statistics 2024,
//! for stopping; Howard et al., "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021, for the
//! guarantee of such an interval). It assumes normal and independent rounds.

use crate::statistics::{mean, variance};

/// Variance of the prior on the effect, in units of the scatter between rounds: a useful knob changes a number by about five times that.
const PRIOR_VARIANCE: f64 = 25.0;
/// Maximum probability that the interval misses the truth at any round.
const ALPHA: f64 = 0.05;

/// The evidence of the rounds so far about a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sequence {
    pub(super) count: usize,
    pub(super) mean: f64,
    /// Standard deviation between rounds.
    deviation: f64,
}

impl Sequence {
    /// `resolution`: lower bound for the deviation, since numbers may be equal because of rounding.
    pub(super) fn of(values: &[f64], resolution: f64) -> Self {
        Self { count: values.len(), mean: mean(values), deviation: variance(values).sqrt().max(resolution) }
    }

    /// Half of the width of the 95 % interval; `None`: too few rounds.
    pub(super) fn half(&self) -> Option<f64> {
        half(self.count, self.deviation)
    }

    /// With a part of the mean explained by another cause.
    pub(super) fn nearer_to_zero(&self, by: f64) -> Self {
        Self { mean: self.mean.signum() * (self.mean.abs() - by).max(0.0), ..*self }
    }

    pub(super) fn ends(&self) -> Option<(f64, f64)> {
        self.half().map(|half| (self.mean - half, self.mean + half))
    }

    /// Evidence that the mean is not zero, as the logarithm of an e-value.
    pub(super) fn ln_e(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 {
            return 0.0;
        }
        let (spread, freedom) = (1.0 + n * PRIOR_VARIANCE, n - 1.0);
        let u = n * (self.mean / self.deviation).powi(2) / freedom;
        n / 2.0 * (u.ln_1p() - (u / spread).ln_1p()) - spread.ln() / 2.0
    }

    /// The number of rounds after which the half width is at most this, assuming the same scatter.
    pub(super) fn rounds_until(&self, wanted: f64, most: usize) -> Option<usize> {
        (self.count..=most).find(|count| half(*count, self.deviation).is_some_and(|half| half <= wanted))
    }
}

/// The point where the Bayes factor against a mean reaches 1/α: with u = t²/(n−1) and a = 1 + n·g, (1+u)/(1+u/a) = (a/α²)^(1/n).
fn half(count: usize, deviation: f64) -> Option<f64> {
    let n = count as f64;
    let spread = 1.0 + n * PRIOR_VARIANCE;
    let bound = (spread / (ALPHA * ALPHA)).powf(1.0 / n);
    (count >= 2 && bound < spread).then(|| {
        let u = (bound - 1.0) / (1.0 - bound / spread);
        deviation * (u * (n - 1.0) / n).sqrt()
    })
}

/// Selects the e-values that are large enough so that at most 5 % of the selected ones are expected to be due to chance, whatever their
/// dependence (Wang and Ramdas, "False discovery rate control with e-values", 2022). Logarithms.
pub(super) fn different(ln_e: &[f64]) -> Vec<bool> {
    let mut sorted = ln_e.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let count = ln_e.len() as f64;
    let is_large_enough = |(e, rank): &(&f64, u32)| **e >= (count / (ALPHA * f64::from(*rank))).ln();
    let limit = sorted.iter().zip(1u32..).filter(is_large_enough).map(|(e, _)| *e).last();
    ln_e.iter().map(|e| limit.is_some_and(|limit| *e >= limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::draws::Draws;

    /// Student's interval of five values has the quantile 2.776 where this one has t with e(t) = 20.
    #[test]
    fn at_the_end_of_the_interval_the_evidence_is_one_in_twenty() {
        let values = [1.0, 1.2, 0.9, 1.1, 0.8];
        let sequence = Sequence::of(&values, 0.0);
        let (low, high) = sequence.ends().unwrap();
        for end in [low, high] {
            let moved: Vec<f64> = values.iter().map(|value| value - end).collect();
            assert!((Sequence::of(&moved, 0.0).ln_e() - 20.0_f64.ln()).abs() < 1e-9);
        }
        assert!(sequence.half().unwrap() > 2.776 * 0.158_113_9 / 5.0_f64.sqrt());
        assert_eq!(Sequence::of(&[1.0, 2.0], 0.0).half(), None);
    }

    /// The factor is a ratio of marginal likelihoods: under no effect, its mean is 1 (a numerical integral over t of Student's density).
    #[test]
    fn without_an_effect_the_expected_evidence_is_one() {
        // Three values: t has two degrees of freedom, and the density (2 + t²)^(-3/2).
        let e = |t: f64| (Sequence { count: 3, mean: t / 3.0_f64.sqrt(), deviation: 1.0 }).ln_e().exp();
        let step = 0.01;
        let sum: f64 = (0..4_000_000).map(|k| (f64::from(k) + 0.5) * step).map(|t| 2.0 * e(t) * (2.0 + t * t).powf(-1.5) * step).sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
    }

    /// The guarantee: checked after every one of 60 rounds, the interval misses the truth in at most one of twenty sequences. Student's
    /// interval misses it in many more.
    #[test]
    fn it_may_be_checked_after_every_round() {
        let (mut missed, mut evident, sequences) = (0u32, 0u32, 2_000);
        for seed in 0..sequences {
            let mut draws = Draws::new(seed);
            let values: Vec<f64> = (0..60).map(|_| 3.0 + draws.normal()).collect();
            let any_check = |of: &dyn Fn(&Sequence) -> bool| (2..=values.len()).any(|count| of(&Sequence::of(&values[..count], 0.0)));
            missed += u32::from(any_check(&|sequence| sequence.ends().is_some_and(|(low, high)| low > 3.0 || high < 3.0)));
            let nothing: Vec<f64> = values.iter().map(|value| value - 3.0).collect();
            evident += u32::from((2..=60).any(|count| Sequence::of(&nothing[..count], 0.0).ln_e() >= 20.0_f64.ln()));
        }
        assert!(f64::from(missed) <= 0.05 * sequences as f64, "{missed} of {sequences}");
        assert!(f64::from(evident) <= 0.05 * sequences as f64 && evident > 0, "{evident}");
    }

    #[test]
    fn an_interval_narrows_and_gives_the_number_of_rounds_needed() {
        let alternating: Vec<f64> = (0..8).map(|k| if k % 2 == 0 { 0.9 } else { 1.1 }).collect();
        let (four, eight) = (Sequence::of(&alternating[..4], 0.0), Sequence::of(&alternating, 0.0));
        assert!(eight.half() < four.half());
        let needed = four.rounds_until(0.05, 100).unwrap();
        assert!(half(needed, four.deviation).unwrap() <= 0.05 && half(needed - 1, four.deviation).unwrap() > 0.05);
        assert_eq!(four.rounds_until(0.0001, 100), None);
        // Identical rounds are not certainty.
        assert!(Sequence::of(&[0.0; 4], 0.002).half().unwrap() > 0.0);
    }

    #[test]
    fn among_many_numbers_each_needs_more_evidence() {
        let e = |value: f64| value.ln();
        assert_eq!(different(&[e(25.0)]), [true]);
        assert_eq!(different(&[e(25.0), 0.0, 0.0]), [false, false, false]);
        // Of three, the first needs 60 alone; together with a second, 30 is enough for both.
        assert_eq!(different(&[e(40.0), e(31.0), 0.0]), [true, true, false]);
        assert_eq!(different(&[]), [] as [bool; 0]);
    }
}
