//! By how much a number changed, with the interval of that.
//!
//! The interval of a difference is made of the intervals of both sides (MOVER; Zou and Donner, "Construction of confidence limits about effect measures: a
//! general approach", Statistics in Medicine 2008): each end uses the ends that work towards it. It needs no symmetry, so the intervals of percentiles,
//! which respect that neighbouring requests depend on each other, carry over to their ratio. A ratio is a difference of logarithms.

use crate::interval::t_two_sided;

/// Degrees of freedom of each side's interval: it is made from twenty batches.
const FREEDOM: f64 = 19.0;
/// Of Student's t with so many, the 97.5 % point.
const T: f64 = 2.093;

/// A number with its 95 % interval; an end that the samples do not carry is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// By how much at most the generator can have added to it.
    pub(super) doubt: f64,
}

impl Estimate {
    pub(super) fn new(value: f64, low: Option<f64>, high: Option<f64>) -> Self {
        Self { value, low, high, doubt: 0.0 }
    }

    /// A number without error bounds.
    pub(super) fn bare(value: f64) -> Self {
        Self::new(value, None, None)
    }

    /// From a standard error of as many batches.
    pub(super) fn with_error(value: f64, error: f64) -> Self {
        let half = T * error;
        Self::new(value, Some(value - half), Some(value + half))
    }
}

/// A difference with its 95 % interval, and how often chance alone makes one as large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberChange {
    pub(super) value: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) p: f64,
}

/// `candidate` less `baseline`.
pub(super) fn difference(baseline: Estimate, candidate: Estimate) -> NumberChange {
    let value = candidate.value - baseline.value;
    let away = |end: Option<f64>, from: f64| end.map(|end| (end - from).abs());
    let sides = |a: Option<f64>, b: Option<f64>| Some((a?, b?));
    let below = sides(away(candidate.low, candidate.value), away(baseline.high, baseline.value));
    let above = sides(away(candidate.high, candidate.value), away(baseline.low, baseline.value));
    let towards_zero = if value > 0.0 { (below, candidate.doubt) } else { (above, baseline.doubt) };
    let p = match towards_zero {
        _ if value == 0.0 => 1.0,
        (Some((a, b)), doubt) => t_two_sided(T * value.abs() / (a.hypot(b) + doubt), freedom(a, b)),
        (None, _) => 1.0,
    };
    let low = below.map(|(a, b)| value - a.hypot(b) - candidate.doubt);
    let high = above.map(|(a, b)| value + a.hypot(b) + baseline.doubt);
    NumberChange { value, low, high, p }
}

/// Degrees of freedom of a difference of which the sides have these errors (Welch, "The generalization of Student's problem when several different
/// population variances are involved", 1947).
fn freedom(a: f64, b: f64) -> f64 {
    let squares = a.powi(2) + b.powi(2);
    if squares > 0.0 { FREEDOM * squares.powi(2) / (a.powi(4) + b.powi(4)) } else { FREEDOM }
}

/// The logarithm of `candidate` / `baseline`; `None` where either is not positive.
pub(super) fn log_ratio(baseline: Estimate, candidate: Estimate) -> Option<NumberChange> {
    let log = |estimate: Estimate| {
        let positive = |end: Option<f64>| end.filter(|end| *end > 0.0).map(f64::ln);
        (estimate.value > 0.0).then(|| Estimate {
            value: estimate.value.ln(),
            low: positive(estimate.low),
            high: positive(estimate.high),
            doubt: -(1.0 - (estimate.doubt / estimate.value).min(0.999)).ln(),
        })
    };
    Some(difference(log(baseline)?, log(candidate)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate::new(value, Some(value - half), Some(value + half))
    }

    #[test]
    fn of_symmetric_sides_it_is_the_ordinary_interval() {
        let change = difference(estimate(10.0, 3.0), estimate(15.0, 4.0));
        assert_eq!((change.value, change.low, change.high), (5.0, Some(0.0), Some(10.0)));
        // The 97.5 % point of t with 19 degrees of freedom each, by Welch 19 · 25² / (3⁴ + 4⁴) = 35.2 together, of which 2.093 leaves 4.36 %.
        assert!((change.p - 0.0436).abs() < 3e-4, "{}", change.p);
        // The other way round it is as unlikely.
        assert!((difference(estimate(15.0, 4.0), estimate(10.0, 3.0)).p - change.p).abs() < 1e-12);
    }

    #[test]
    fn each_end_is_made_of_the_ends_that_work_towards_it() {
        let baseline = Estimate::new(10.0, Some(9.0), None);
        let change = difference(baseline, estimate(20.0, 1.0));
        // The baseline may be anything above: no lower end, and no conclusion.
        assert_eq!((change.low, change.p), (None, 1.0));
        assert_eq!(change.high, Some(10.0 + 2.0_f64.sqrt()));
        // That the candidate may be larger still does not stand in the way.
        let change = difference(estimate(10.0, 1.0), Estimate::new(20.0, Some(19.0), None));
        assert!(change.p < 1e-6 && change.high.is_none());
    }

    #[test]
    fn a_ratio_turns_over_with_its_sides() {
        let (a, b) = (estimate(10.0, 1.0), estimate(12.0, 0.5));
        let (there, back) = (log_ratio(a, b).unwrap(), log_ratio(b, a).unwrap());
        assert!((there.value - 1.2_f64.ln()).abs() < 1e-12 && (there.value + back.value).abs() < 1e-12);
        assert!((there.low.unwrap() + back.high.unwrap()).abs() < 1e-12);
        assert_eq!(log_ratio(Estimate::bare(0.0), b), None);
    }

    #[test]
    fn what_the_generator_can_have_added_is_no_difference() {
        let (a, b) = (estimate(10.0, 0.01), Estimate { doubt: 3.0, ..estimate(12.0, 0.01) });
        let change = difference(a, b);
        assert!(change.low.unwrap() < 0.0 && change.high.unwrap() < 2.1 && change.p > 0.05);
    }
}
