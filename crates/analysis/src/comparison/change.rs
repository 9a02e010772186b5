//! The change of a number, with its interval.
//!
//! The interval of a difference is computed from the intervals of both sides (MOVER; Zou and Donner, "Construction of confidence limits
//! about effect measures: a general approach", Statistics in Medicine 2008): each end uses the ends that move it in its direction. The
//! method needs no symmetry, so it applies to the intervals of percentiles, which allow for the dependence between neighbouring requests,
//! and to their ratio. A ratio is a difference of logarithms.

use crate::statistics::{batches_of, student_t, t_two_sided, welch_freedom};

/// Degrees of freedom of an interval from twenty batches.
const FREEDOM: f64 = 19.0;

/// A number with its 95 % interval. An end that the samples do not determine is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The maximum that the generator can have added to it.
    pub(super) uncertainty: f64,
    /// Degrees of freedom of the interval.
    pub(super) freedom: f64,
    /// The value is a lower bound: the percentile lies among requests that had not ended.
    pub(super) is_bound: bool,
    /// A single stretch of the run with nearly all samples beyond it, for which it has no upper end. Seconds since the run began.
    pub(super) event: Option<(f64, f64)>,
}

impl Estimate {
    pub(super) fn new(value: f64, low: Option<f64>, high: Option<f64>) -> Self {
        Self { value, low, high, uncertainty: 0.0, freedom: FREEDOM, is_bound: false, event: None }
    }

    /// A percentile with the interval computed from this many seconds. Rounding may have put the value outside its interval.
    pub(super) fn percentile(value: f64, (low, high): (Option<f64>, Option<f64>), seconds: usize) -> Self {
        let freedom = (batches_of(seconds) as f64 - 1.0).max(1.0);
        Self { freedom, ..Self::new(value, low.map(|low| low.min(value)), high.map(|high| high.max(value))) }
    }

    /// A percentile that lies among requests that had not ended, so that only a lower bound is known. `low` is the lower end of the
    /// percentile of all that ended. The others rank behind these, so the end is valid for both.
    pub(super) fn at_least(bound: f64, low: Option<f64>, seconds: usize) -> Self {
        Self { is_bound: true, ..Self::percentile(bound, (low, None), seconds) }
    }

    /// A number without an interval.
    pub(super) fn bare(value: f64) -> Self {
        Self::new(value, None, None)
    }

    /// From a standard error with this many degrees of freedom.
    pub(super) fn with_error(value: f64, error: f64, freedom: f64) -> Self {
        let half = student_t(freedom) * error;
        Self { freedom, ..Self::new(value, Some(value - half), Some(value + half)) }
    }

    /// Moves the estimate to another value, with the same relative uncertainty.
    pub(super) fn scaled_to(self, value: f64) -> Self {
        let scaled = |end: Option<f64>| end.map(|end| end * value / self.value);
        Self { value, low: scaled(self.low), high: scaled(self.high), ..self }
    }
}

/// A difference with its 95 % interval, and the probability that chance alone causes one this large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberChange {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) p: f64,
}

/// `candidate` minus `baseline`. `paired`: the error of the difference, if it is not computed from the errors of the two sides.
pub(super) fn difference(baseline: Estimate, candidate: Estimate, paired: Option<ChangeErrors>) -> NumberChange {
    let value = candidate.value - baseline.value;
    let ChangeErrors { below, above } = paired.unwrap_or_else(|| ChangeErrors::of_sides(baseline, candidate));
    let (towards_zero, uncertainty) = if value > 0.0 { (below, candidate.uncertainty) } else { (above, baseline.uncertainty) };
    let p = match towards_zero {
        _ if value == 0.0 => 1.0,
        // The time that the generator may have added is not random: it extends the interval.
        Some(side) => t_two_sided(student_t(side.freedom) * value.abs() / (side.half() + uncertainty), side.freedom),
        None => 1.0,
    };
    let low = below.map(|side| value - side.half() - candidate.uncertainty);
    let high = above.map(|side| value + side.half() + baseline.uncertainty);
    NumberChange { value, low, high, p }
}

/// The error of a change, downwards and upwards; `None`: the samples do not determine it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChangeErrors {
    pub(super) below: Option<SideError>,
    pub(super) above: Option<SideError>,
}

impl ChangeErrors {
    /// From the intervals of both sides.
    pub(super) fn of_sides(baseline: Estimate, candidate: Estimate) -> Self {
        let error = |of: Estimate, end: Option<f64>| end.map(|end| SideError::of(end - of.value, of.freedom));
        let both = |a: Option<SideError>, b: Option<SideError>| Some(SideError::both(a?, b?));
        Self {
            below: both(error(candidate, candidate.low), error(baseline, baseline.high)),
            above: both(error(candidate, candidate.high), error(baseline, baseline.low)),
        }
    }

    /// From a standard error with this many degrees of freedom.
    pub(super) fn even(error: f64, freedom: f64) -> Self {
        let side = Some(SideError { error, freedom });
        Self { below: side, above: side }
    }

    /// The wider of the two at each end.
    pub(super) fn or_wider(self, other: Self) -> Self {
        let wider = |a: Option<SideError>, b: Option<SideError>| a.zip(b).map(|(a, b)| if b.half() > a.half() { b } else { a });
        Self { below: wider(self.below, other.below), above: wider(self.above, other.above) }
    }
}

/// The error of a number in one direction: a standard error and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SideError {
    error: f64,
    freedom: f64,
}

impl SideError {
    /// From the distance between the value and an end of its 95 % interval.
    pub(super) fn of(distance: f64, freedom: f64) -> Self {
        Self { error: distance.abs() / student_t(freedom), freedom }
    }

    /// The error of a difference, with the degrees of freedom of Welch ("The generalization of Student's problem when several different
    /// population variances are involved", 1947).
    fn both(a: Self, b: Self) -> Self {
        let freedom = welch_freedom((a.error.powi(2), a.freedom), (b.error.powi(2), b.freedom));
        Self { error: a.error.hypot(b.error), freedom: if freedom.is_finite() { freedom } else { a.freedom.min(b.freedom) } }
    }

    pub(super) fn half(self) -> f64 {
        student_t(self.freedom) * self.error
    }
}

/// The logarithm of `candidate` / `baseline`; `None` where either is not positive. `paired` as in [`difference`], for the logarithm.
pub(super) fn log_ratio(baseline: Estimate, candidate: Estimate, paired: Option<ChangeErrors>) -> Option<NumberChange> {
    let log = |estimate: Estimate| {
        let positive = |end: Option<f64>| end.filter(|end| *end > 0.0).map(f64::ln);
        (estimate.value > 0.0).then(|| Estimate {
            value: estimate.value.ln(),
            low: positive(estimate.low),
            high: positive(estimate.high),
            uncertainty: -(1.0 - (estimate.uncertainty / estimate.value).min(0.999)).ln(),
            freedom: estimate.freedom,
            is_bound: estimate.is_bound,
            event: estimate.event,
        })
    };
    Some(difference(log(baseline)?, log(candidate)?, paired))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate::new(value, Some(value - half), Some(value + half))
    }

    #[test]
    fn symmetric_sides_give_the_ordinary_interval() {
        let change = difference(estimate(10.0, 3.0), estimate(15.0, 4.0), None);
        // The 97.5 % point of t is 2.093 with 19 degrees of freedom, as each side has, and 2.030 with 19 · 25² / (3⁴ + 4⁴) = 35.2, as both have by Welch.
        let half = 5.0 * 2.030 / 2.093;
        assert!((change.low.unwrap() - (5.0 - half)).abs() < 0.01 && (change.high.unwrap() - (5.0 + half)).abs() < 0.01, "{change:?}");
        // Of 35.2, 2.093 leaves 4.36 %.
        assert!((change.p - 0.0436).abs() < 3e-4, "{}", change.p);
        // The reverse comparison has the same probability.
        assert!((difference(estimate(15.0, 4.0), estimate(10.0, 3.0), None).p - change.p).abs() < 1e-12);
    }

    #[test]
    fn each_end_uses_the_ends_in_its_direction() {
        let baseline = Estimate::new(10.0, Some(9.0), None);
        let change = difference(baseline, estimate(20.0, 1.0), None);
        // The baseline has no upper end, so the change has no lower end, and there is no conclusion.
        assert_eq!((change.low, change.p), (None, 1.0));
        assert!((change.high.unwrap() - (10.0 + 2.0_f64.sqrt() * 2.024 / 2.093)).abs() < 0.01, "{change:?}");
        // A candidate without an upper end does not prevent a conclusion.
        let change = difference(estimate(10.0, 1.0), Estimate::new(20.0, Some(19.0), None), None);
        assert!(change.p < 1e-6 && change.high.is_none());
    }

    #[test]
    fn swapping_the_sides_inverts_the_ratio() {
        let (a, b) = (estimate(10.0, 1.0), estimate(12.0, 0.5));
        let (forward, reverse) = (log_ratio(a, b, None).unwrap(), log_ratio(b, a, None).unwrap());
        assert!((forward.value - 1.2_f64.ln()).abs() < 1e-12 && (forward.value + reverse.value).abs() < 1e-12);
        assert!((forward.low.unwrap() + reverse.high.unwrap()).abs() < 1e-12);
        assert_eq!(log_ratio(Estimate::bare(0.0), b, None), None);
    }

    #[test]
    fn time_that_the_generator_may_have_added_is_no_difference() {
        let (a, b) = (estimate(10.0, 0.01), Estimate { uncertainty: 3.0, ..estimate(12.0, 0.01) });
        let change = difference(a, b, None);
        assert!(change.low.unwrap() < 0.0 && change.high.unwrap() < 2.1 && change.p > 0.05);
    }
}
