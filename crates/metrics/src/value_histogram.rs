//! A histogram of values of any sign and unit: the storage of a custom trend.
//!
//! Values are counted in millionths by two [`Histogram`]s, one for each sign, so they lie in buckets at most 0.4 % wide. A bucket is read as the
//! roundest number in it: people record whole numbers and amounts, and a price of 12.5 should read 12.5. Sum, minimum and maximum are exact.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Values are counted in millionths. Values that are closer together are not distinguished.
const MILLIONTHS_PER_UNIT: f64 = 1e6;

/// Counts of values. Merging adds counts and loses nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueHistogram {
    sum: f64,
    min: f64,
    max: f64,
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    from_zero: Histogram,
    /// Absolute values of the negative values.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    below_zero: Histogram,
}

impl ValueHistogram {
    /// `value` is finite.
    pub fn record(&mut self, value: f64) {
        self.widen(value, value);
        self.sum += value;
        // A cast saturates. Beyond 1.8·10¹³, only sum, minimum and maximum distinguish values.
        let scaled = (value.abs() * MILLIONTHS_PER_UNIT).round() as u64;
        let side = if value < 0.0 { &mut self.below_zero } else { &mut self.from_zero };
        side.record(scaled);
    }

    /// Extends minimum and maximum, before the values between them are counted.
    fn widen(&mut self, min: f64, max: f64) {
        let is_empty = self.is_empty();
        self.min = if is_empty { min } else { self.min.min(min) };
        self.max = if is_empty { max } else { self.max.max(max) };
    }

    pub fn merge(&mut self, other: &ValueHistogram) {
        if other.is_empty() {
            return;
        }
        self.widen(other.min, other.max);
        self.sum += other.sum;
        self.from_zero.merge(&other.from_zero);
        self.below_zero.merge(&other.below_zero);
    }

    /// Returns a packed copy. This one becomes empty and keeps its memory.
    pub(crate) fn take(&mut self) -> Self {
        let taken = self.to_packed();
        self.from_zero.clear();
        self.below_zero.clear();
        (self.sum, self.min, self.max) = (0.0, 0.0, 0.0);
        taken
    }

    pub(crate) fn each_histogram(&mut self, visit: impl FnMut(&mut Histogram)) {
        [&mut self.from_zero, &mut self.below_zero].into_iter().for_each(visit);
    }

    fn to_packed(&self) -> Self {
        Self { from_zero: self.from_zero.to_packed(), below_zero: self.below_zero.to_packed(), ..*self }
    }

    pub fn count(&self) -> u64 {
        self.from_zero.count() + self.below_zero.count()
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// All values, counted in millionths. `None` if one of them is negative.
    pub fn where_none_is_negative(&self) -> Option<&Histogram> {
        self.below_zero.is_empty().then_some(&self.from_zero)
    }

    /// `None` when empty, like the following methods.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum / self.count() as f64)
    }

    pub fn min(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.min)
    }

    pub fn max(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The value at rank ⌈q·count⌉.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let below = self.below_zero.count();
        let read = |side: &Histogram, rank: u64| round_at(side, rank) as f64 / MILLIONTHS_PER_UNIT;
        let value = match rank {
            1 => self.min,
            _ if rank == count => self.max,
            _ if rank <= below => -read(&self.below_zero, below + 1 - rank),
            _ => read(&self.from_zero, rank - below),
        };
        Some(value.clamp(self.min, self.max))
    }

    /// A value between the two nearest ranks, as k6 computes percentiles (`TrendSink.P`): with the ranks from 0 to count − 1, the one at
    /// q·(count − 1).
    pub fn interpolated_quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        let position = q * (count.checked_sub(1)? as f64);
        let at = |rank: f64| self.quantile((rank + 0.5) / count as f64);
        let (low, high) = (at(position.floor())?, at(position.ceil())?);
        Some(low + (high - low) * position.fract())
    }
}

/// The number as which the value of this rank is read.
fn round_at(side: &Histogram, rank: u64) -> u64 {
    let mut seen = 0;
    let bar = side.bars().find(|(.., count)| {
        seen += count;
        seen >= rank
    });
    bar.map_or(0, |(low, high, _)| roundest(low, high))
}

/// The number between the two with the most zeros at its end. Of several, the one nearest to the middle.
fn roundest(low: u64, high: u64) -> u64 {
    let middle = low + (high - low) / 2;
    let mut unit = 10u64.pow(middle.checked_ilog10().unwrap_or(0));
    while unit > 1 {
        let nearest = (middle + unit / 2) / unit * unit;
        if (low..=high).contains(&nearest) {
            return nearest;
        }
        unit /= 10;
    }
    middle
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> ValueHistogram {
        let mut histogram = ValueHistogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn round_values_are_read_exactly() {
        for value in [0.0, 1.0, 5.0, 12.5, 37.0, 250.0, 0.25, 0.001, -3.0, -12.5, 1_000_000.0] {
            // Between two extremes, so that the value is not read from them.
            let histogram = of(&[-1e9, value, 1e9]);
            assert_eq!(histogram.quantile(0.5), Some(value));
        }
    }

    #[test]
    fn taking_a_second_empties_the_histogram() {
        let mut histogram = of(&[3.0, -7.0]);
        assert_eq!(histogram.take(), of(&[3.0, -7.0]));
        assert_eq!(histogram, ValueHistogram::default());
        histogram.record(5.0);
        assert_eq!((histogram.min(), histogram.max(), histogram.mean()), (Some(5.0), Some(5.0), Some(5.0)));
    }

    proptest! {
        /// Compared with the sorted list. Every percentile is within half a percent of the value of its rank, and extremes are exact. The division
        /// into parts does not matter.
        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            values in proptest::collection::vec(prop_oneof![-1e7f64..1e7, -2f64..2.0, (0i32..500).prop_map(f64::from)], 1..300),
            cut in 0usize..300, q in 0.0f64..1.0,
        ) {
            let (first, rest) = values.split_at(cut.min(values.len()));
            let mut histogram = of(first);
            histogram.merge(&of(rest));
            let text = serde_json::to_string(&histogram).unwrap();
            let histogram: ValueHistogram = serde_json::from_str(&text).unwrap();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            let (read, truth) = (histogram.quantile(q).unwrap(), sorted[rank - 1]);
            prop_assert!((read - truth).abs() <= truth.abs() * 0.005 + 1e-6, "{read} for {truth}");
            prop_assert!((histogram.max().unwrap() - sorted[sorted.len() - 1]).abs() <= 1e-9 * sorted[sorted.len() - 1].abs());
            prop_assert_eq!(histogram.count(), values.len() as u64);
        }
    }
}
