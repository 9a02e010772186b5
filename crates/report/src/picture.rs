//! Converts values to positions on an axis, as shares of its length, so that a page only draws. Read [`PlotAxis`].

use serde::Serialize;

use crate::terminal::Paint;

/// Margin beyond the outermost values, as a share of their range.
const MARGIN: f64 = 0.08;
/// Minimum number of ticks on an axis.
const TICKS_MIN: i64 = 3;
/// With more ticks than this, a logarithmic axis shows powers of ten only.
const TICKS_MAX: usize = 6;

/// A tick on an axis. `at` is a share of its length, from the lower end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct AxisTick {
    pub at: f64,
    pub text: String,
}

/// The meaning of a word or a mark, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    Good,
    Warn,
    Bad,
    None,
}

impl From<Paint> for Tone {
    fn from(paint: Paint) -> Self {
        match paint {
            Paint::Good => Tone::Good,
            Paint::Warning => Tone::Warn,
            Paint::Bad => Tone::Bad,
            Paint::Bold | Paint::Dim => Tone::None,
        }
    }
}

/// The part of an axis between two values. An end that the samples cannot determine is at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "typescript"), derive(ts_rs::TS))]
pub struct Interval {
    pub low: f64,
    pub at: f64,
    pub high: f64,
}

/// An axis from one value to another, linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlotAxis {
    low: f64,
    high: f64,
    is_log: bool,
}

impl PlotAxis {
    /// An axis around all values that never extends below `floor`. If all values are 0 it reaches 0.01, so that its ticks differ.
    pub(crate) fn around(values: impl Iterator<Item = f64>, floor: f64) -> Self {
        let (low, high) = ends(values);
        let by = if high > low {
            (high - low) * MARGIN
        } else if high == 0.0 {
            0.01
        } else {
            high.abs() * MARGIN
        };
        Self { low: (low - by).max(floor), high: high + by, is_log: false }
    }

    /// A logarithmic axis. Values of 0 and below have no position on it.
    pub(crate) fn in_logarithms(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = ends(values.filter(|value| *value > 0.0).map(f64::ln));
        let by = ((high - low) * MARGIN).max(0.05);
        Self { low: low - by, high: high + by, is_log: true }
    }

    /// An axis for ratios: it extends equally below and above 1, and at least to `widest`.
    pub(crate) fn of_ratios(values: impl Iterator<Item = f64>, widest: f64) -> Self {
        let far = values.filter(|value| *value > 0.0).map(|value| value.ln().abs()).fold(widest.ln(), f64::max);
        Self { low: -far, high: far, is_log: true }
    }

    /// The position of a value, 0 to 1. A value beyond the axis is at the edge.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Evenly spaced positions from end to end, each with its value.
    pub(crate) fn samples(&self, count: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
        let value = |share: f64| self.low + share * (self.high - self.low);
        let shares = (0..count).map(move |index| index as f64 / count.saturating_sub(1).max(1) as f64);
        shares.map(move |share| (share, if self.is_log { value(share).exp() } else { value(share) }))
    }

    pub(crate) fn interval(&self, low: Option<f64>, at: f64, high: Option<f64>) -> Interval {
        Interval { low: low.map_or(0.0, |low| self.place(low)), at: self.place(at), high: high.map_or(1.0, |high| self.place(high)) }
    }

    /// Ticks at round values, formatted by `write`.
    pub(crate) fn ticks(&self, write: impl Fn(f64) -> String) -> Vec<AxisTick> {
        let values = if self.is_log { self.powers() } else { self.steps(self.low, self.high) };
        values.into_iter().map(|value| AxisTick { at: self.place(value), text: write(value) }).collect()
    }

    /// The widest round step that yields enough ticks.
    fn steps(&self, low: f64, high: f64) -> Vec<f64> {
        let largest = (high - low).log10().ceil() as i32;
        let round = (largest - 2..=largest).rev().flat_map(|exponent| [5.0, 2.0, 1.0].map(|digit| digit * 10f64.powi(exponent)));
        let marks = |step: f64| ((low / step).ceil() as i64, (high / step).floor() as i64);
        let enough = round.map(|step| (step, marks(step))).find(|(_, (first, last))| last - first + 1 >= TICKS_MIN);
        let (step, (first, last)) = enough.unwrap_or((high - low, (1, 0)));
        // A division by a whole number is exact where possible: 3 × 0.1 is not a round number.
        (first..=last).map(|count| if step < 1.0 { count as f64 / (1.0 / step).round() } else { count as f64 * step }).collect()
    }

    /// 1, 2 and 5 times each power of ten; in a narrow range ordinary steps.
    fn powers(&self) -> Vec<f64> {
        let (low, high) = (self.low.exp(), self.high.exp());
        let exponents = || low.log10().floor() as i32..=high.log10().ceil() as i32;
        let of =
            |digits: &'static [f64]| exponents().flat_map(move |exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent)));
        let within = |values: Vec<f64>| -> Vec<f64> { values.into_iter().filter(|value| (low..=high).contains(value)).collect() };
        let fine = within(of(&[1.0, 2.0, 5.0]).collect());
        match fine.len() {
            0..=2 => self.steps(low, high),
            count if count > TICKS_MAX => within(of(&[1.0]).collect()),
            _ => fine,
        }
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: PlotAxis) -> Vec<String> {
        axis.ticks(|value| format!("{value}")).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn marks_are_round_and_within() {
        assert_eq!(texts(PlotAxis::around([0.038, 0.043].into_iter(), 0.0)), ["0.038", "0.04", "0.042"]);
        assert_eq!(texts(PlotAxis::around([0.0, 100.0].into_iter(), 0.0)), ["0", "50", "100"]);
        assert_eq!(texts(PlotAxis::around([0.0, 0.0].into_iter(), 0.0)), ["0", "0.005", "0.01"]);
        assert_eq!(texts(PlotAxis::around([0.055, 0.133].into_iter(), 0.0)), ["0.06", "0.08", "0.1", "0.12"]);
        assert_eq!(texts(PlotAxis::in_logarithms([28.0, 230.0].into_iter())), ["50", "100", "200"]);
        assert_eq!(texts(PlotAxis::in_logarithms([0.001, 2000.0].into_iter())), ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(texts(PlotAxis::in_logarithms([104.0, 117.0].into_iter())), ["100", "110", "120"]);
    }

    #[test]
    fn a_ratio_and_its_reciprocal_are_as_far_from_the_middle() {
        let axis = PlotAxis::of_ratios([1.93, 0.7].into_iter(), 1.5);
        assert_eq!((axis.place(1.0), axis.place(9.0), axis.place(0.0)), (0.5, 1.0, 0.0));
        assert!((axis.place(1.2) + axis.place(1.0 / 1.2) - 1.0).abs() < 1e-12);
        let open = axis.interval(None, 1.2, Some(1.93));
        assert!(open.low == 0.0 && open.low < open.at && open.at < open.high);
    }

    #[test]
    fn values_that_are_alike_or_missing_still_make_an_axis() {
        for axis in [
            PlotAxis::around([5.0, 5.0].into_iter(), 0.0),
            PlotAxis::around([].into_iter(), 0.0),
            PlotAxis::in_logarithms([0.0].into_iter()),
        ] {
            assert!(axis.place(5.0).is_finite() && !axis.ticks(|value| value.to_string()).is_empty(), "{axis:?}");
        }
    }
}
