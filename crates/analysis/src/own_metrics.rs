//! The test's custom metrics in numbers. Definitions: docs/metrics.md, "Metrics of your own".

use loadstone_metrics::{MetricSlice, MetricValue, Nanos, Tags};
use loadstone_plan::MetricKind;
use serde::{Deserialize, Serialize};

use crate::load_time::{LoadTime, RateSpan};
use crate::percentile::value_percentiles;
use crate::time_stats::Percentile;

/// A custom metric in the summary, or its part with certain tags. Values are in its unit. Fields that its kind does not have are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MetricRow {
    pub name: String,
    pub kind: MetricKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Empty: the whole metric.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Number of recorded values.
    pub count: u64,
    /// Counter: the sum of the added values, and the sum per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Rate: the number of true values, and their share of `count`, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Gauge: the last value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<f64>,
    /// Trend and gauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Trend: as for times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
}

impl MetricRow {
    /// The value at one of the listed quantiles, if there were enough samples.
    pub fn at(&self, quantile: f64) -> Option<f64> {
        self.percentiles.iter().find(|p| (p.quantile - quantile).abs() < 1e-9)?.value
    }
}

/// A value with its unit: `12.5 EUR`; `12.5` without a unit.
pub fn in_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { loadstone_units::number(value) } else { format!("{} {unit}", loadstone_units::number(value)) }
}

/// Metrics over the whole run.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricTallies {
    all: Vec<MetricTally>,
}

#[derive(Debug, Clone)]
struct MetricTally {
    merged: MetricSlice,
    recorded: RateSpan,
}

impl MetricTallies {
    pub(crate) fn push(&mut self, slice: &MetricSlice, span: (Nanos, Nanos), load: LoadTime) {
        let known = self.all.iter().position(|mine| mine.merged.name == slice.name && mine.merged.tags == slice.tags);
        let index = match known {
            Some(index) => {
                self.all[index].merged.value.merge(&slice.value);
                index
            }
            None => {
                self.all.push(MetricTally { merged: slice.clone(), recorded: RateSpan::default() });
                self.all.len() - 1
            }
        };
        self.all[index].recorded.push(span, slice.value.count(), load);
    }

    /// Each metric by its name, followed by its parts.
    pub(crate) fn rows(&self) -> Vec<MetricRow> {
        let mut all: Vec<&MetricTally> = self.all.iter().collect();
        all.sort_by(|a, b| (&a.merged.name, &a.merged.tags).cmp(&(&b.merged.name, &b.merged.tags)));
        all.into_iter().map(MetricTally::row).collect()
    }
}

impl MetricTally {
    fn row(&self) -> MetricRow {
        let MetricSlice { name, unit, tags, value } = &self.merged;
        let kind = match value {
            MetricValue::Trend(_) => MetricKind::Trend,
            MetricValue::Counter { .. } => MetricKind::Counter,
            MetricValue::Gauge(_) => MetricKind::Gauge,
            MetricValue::Rate { .. } => MetricKind::Rate,
        };
        let count = value.count();
        let empty = MetricRow {
            name: name.to_string(),
            kind,
            unit: unit.to_string(),
            tags: tags.clone(),
            count,
            sum: None,
            rate: None,
            hits: None,
            share: None,
            last: None,
            mean: None,
            min: None,
            max: None,
            percentiles: Vec::new(),
        };
        match value {
            MetricValue::Trend(values) => {
                MetricRow { mean: values.mean(), min: values.min(), max: values.max(), percentiles: value_percentiles(values), ..empty }
            }
            MetricValue::Counter { sum, .. } => {
                let rate = self.recorded.rate(0.0).map(|recorded| recorded * sum / count.max(1) as f64);
                MetricRow { sum: Some(*sum), rate, ..empty }
            }
            MetricValue::Gauge(gauge) => MetricRow {
                last: Some(gauge.last),
                mean: Some(gauge.sum / gauge.count.max(1) as f64),
                min: Some(gauge.min),
                max: Some(gauge.max),
                ..empty
            },
            MetricValue::Rate { hits, .. } => MetricRow { hits: Some(*hits), share: Some(*hits as f64 / count.max(1) as f64), ..empty },
        }
    }
}
