//! Custom metrics: values that a test's script records under a name.
//!
//! Read [`MetricSlice`] first. Deliberately absent: the declarations of metrics (`plan::DeclaredMetric`).

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::histogram::Histogram;
use crate::tags::Tags;
use crate::value_histogram::ValueHistogram;

/// One metric in one slice: all values under its name, or the part with these tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSlice {
    pub name: Arc<str>,
    /// The unit as the test declares it. May be empty.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub unit: Arc<str>,
    /// Empty: all values, with and without tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    pub value: MetricValue,
}

/// The aggregate of the recorded values, by the metric's kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricValue {
    /// The distribution of the values.
    Trend(ValueHistogram),
    /// The sum of the values.
    Counter { count: u64, sum: f64 },
    /// The level that was set.
    Gauge(GaugeValue),
    /// How often the condition was true, and how often it was recorded.
    Rate { count: u64, hits: u64 },
}

/// A level that may be set many times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct GaugeValue {
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    pub last: f64,
    pub last_at: Nanos,
}

impl GaugeValue {
    fn merge(&mut self, other: &GaugeValue) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        if other.last_at >= self.last_at {
            (self.last, self.last_at) = (other.last, other.last_at);
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.count += other.count;
    }
}

impl MetricValue {
    /// How often it was recorded.
    pub fn count(&self) -> u64 {
        match self {
            MetricValue::Trend(values) => values.count(),
            MetricValue::Counter { count, .. } | MetricValue::Rate { count, .. } => *count,
            MetricValue::Gauge(gauge) => gauge.count,
        }
    }

    /// `value` is finite. For a rate, any value except zero is a hit.
    pub fn record(&mut self, at: Nanos, value: f64) {
        match self {
            MetricValue::Trend(values) => values.record(value),
            MetricValue::Counter { count, sum } => {
                *count += 1;
                *sum += value;
            }
            MetricValue::Gauge(gauge) => {
                gauge.merge(&GaugeValue { count: 1, sum: value, min: value, max: value, last: value, last_at: at })
            }
            MetricValue::Rate { count, hits } => {
                *count += 1;
                *hits += u64::from(value != 0.0);
            }
        }
    }

    /// Adds the values of another worker or a later second for the same metric. A value of another kind, which no plan allows, is ignored.
    pub fn merge(&mut self, other: &MetricValue) {
        match (self, other) {
            (MetricValue::Trend(mine), MetricValue::Trend(theirs)) => mine.merge(theirs),
            (MetricValue::Counter { count, sum }, MetricValue::Counter { count: more, sum: added }) => {
                *count += more;
                *sum += added;
            }
            (MetricValue::Gauge(mine), MetricValue::Gauge(theirs)) => mine.merge(theirs),
            (MetricValue::Rate { count, hits }, MetricValue::Rate { count: more, hits: added }) => {
                *count += more;
                *hits += added;
            }
            _ => {}
        }
    }

    /// The figures that charts show, by name. Empty if nothing was recorded.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        if self.count() == 0 {
            return Vec::new();
        }
        match self {
            MetricValue::Trend(values) => {
                let at = |q| values.quantile(q).unwrap_or_default();
                let mut figures = vec![("mean", values.mean().unwrap_or_default()), ("min", values.min().unwrap_or_default())];
                figures.extend([("p50", at(0.5)), ("p95", at(0.95)), ("p99", at(0.99)), ("max", values.max().unwrap_or_default())]);
                figures
            }
            MetricValue::Counter { sum, .. } => vec![("sum", *sum)],
            MetricValue::Gauge(gauge) => {
                vec![("last", gauge.last), ("mean", gauge.sum / gauge.count as f64), ("min", gauge.min), ("max", gauge.max)]
            }
            MetricValue::Rate { count, hits } => vec![("share", *hits as f64 / *count as f64)],
        }
    }

    /// Takes the accumulated value. This one becomes empty and keeps its memory.
    fn take(&mut self) -> Self {
        match self {
            MetricValue::Trend(values) => MetricValue::Trend(values.take()),
            MetricValue::Counter { count, sum } => MetricValue::Counter { count: std::mem::take(count), sum: std::mem::take(sum) },
            MetricValue::Gauge(gauge) => MetricValue::Gauge(std::mem::take(gauge)),
            MetricValue::Rate { count, hits } => MetricValue::Rate { count: std::mem::take(count), hits: std::mem::take(hits) },
        }
    }

    pub(crate) fn each_histogram(&mut self, visit: impl FnMut(&mut Histogram)) {
        if let MetricValue::Trend(values) = self {
            values.each_histogram(visit);
        }
    }
}

impl MetricSlice {
    fn is_of(&self, other: &MetricSlice) -> bool {
        self.name == other.name && self.tags == other.tags
    }

    /// Adds the metrics of another slice to a list.
    pub fn merge_all(into: &mut Vec<MetricSlice>, from: Vec<MetricSlice>) {
        for theirs in from {
            match into.iter_mut().find(|mine| mine.is_of(&theirs)) {
                Some(mine) => mine.value.merge(&theirs.value),
                None => into.push(theirs),
            }
        }
    }
}

/// A metric, or a tagged part of one, in one recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricId(u32);

/// All metrics of one recorder.
#[derive(Debug, Default)]
pub(crate) struct MetricBook {
    slices: Vec<MetricSlice>,
    index: HashMap<(Arc<str>, Tags), MetricId>,
    /// The number of metrics with tags.
    tagged: usize,
}

impl MetricBook {
    /// `None`: the metric has tags, and the limit on separate tags is reached.
    pub(crate) fn id(&mut self, empty: &MetricSlice, tagged_max: usize) -> Option<MetricId> {
        let key = (empty.name.clone(), empty.tags.clone());
        if let Some(id) = self.index.get(&key) {
            return Some(*id);
        }
        if !empty.tags.is_empty() {
            if self.tagged >= tagged_max {
                return None;
            }
            self.tagged += 1;
        }
        let id = MetricId(self.slices.len() as u32);
        self.slices.push(empty.clone());
        self.index.insert(key, id);
        Some(id)
    }

    pub(crate) fn record(&mut self, id: MetricId, at: Nanos, value: f64) {
        self.slices[id.0 as usize].value.record(at, value);
    }

    /// Returns what was recorded since the last call.
    pub(crate) fn take(&mut self) -> Vec<MetricSlice> {
        let recorded = self.slices.iter_mut().filter(|slice| slice.value.count() > 0);
        recorded.map(|slice| MetricSlice { value: slice.value.take(), ..slice.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(at: Nanos, value: f64) -> MetricValue {
        let mut gauge = MetricValue::Gauge(GaugeValue::default());
        gauge.record(at, value);
        gauge
    }

    #[test]
    fn the_last_level_is_the_latest_in_any_merge_order() {
        for (first, second) in [(gauge(10, 3.0), gauge(20, -4.0)), (gauge(20, -4.0), gauge(10, 3.0))] {
            let mut merged = first;
            merged.merge(&second);
            let expected = GaugeValue { count: 2, sum: -1.0, min: -4.0, max: 3.0, last: -4.0, last_at: 20 };
            assert_eq!(merged, MetricValue::Gauge(expected));
        }
    }

    #[test]
    fn taking_from_a_book_returns_its_values_and_empties_it() {
        let mut book = MetricBook::default();
        let counter = MetricSlice {
            name: "Orders".into(),
            unit: "".into(),
            tags: Tags::default(),
            value: MetricValue::Counter { count: 0, sum: 0.0 },
        };
        let id = book.id(&counter, 1).unwrap();
        let eu = MetricSlice { tags: Tags::new([("region", "eu")]), ..counter.clone() };
        let us = MetricSlice { tags: Tags::new([("region", "us")]), ..counter.clone() };
        assert!(book.id(&eu, 1).is_some() && book.id(&us, 1).is_none(), "at most one with tags");
        book.record(id, 5, 2.5);
        book.record(id, 6, 1.0);
        let taken = book.take();
        assert_eq!(taken, [MetricSlice { value: MetricValue::Counter { count: 2, sum: 3.5 }, ..counter }]);
        assert!(book.take().is_empty());
    }
}
