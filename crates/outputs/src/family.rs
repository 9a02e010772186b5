//! A metric with all its points, as Prometheus and OpenTelemetry know it. What the run's totals are turned into.

use std::sync::Arc;

use loadstone_metrics::Histogram;

/// Names and values that distinguish points of one metric.
pub(crate) type PointLabels = Vec<(&'static str, Arc<str>)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FamilyUnit {
    One,
    Seconds,
    Bytes,
}

/// One metric with all its points.
#[derive(Debug)]
pub(crate) struct MetricFamily<'a> {
    /// Without the prefix, the unit and `total`: `requests`, `response_time`.
    pub(crate) stem: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: FamilyKind,
    pub(crate) unit: FamilyUnit,
    pub(crate) points: Vec<(PointLabels, PointValue<'a>)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum PointValue<'a> {
    Number(f64),
    /// Nanoseconds.
    Times(&'a Histogram),
}

impl MetricFamily<'_> {
    /// As Prometheus writes it: `loadstone_response_time_seconds`, `loadstone_requests_total`.
    pub(crate) fn prometheus_name(&self) -> String {
        let unit = match self.unit {
            FamilyUnit::One => "",
            FamilyUnit::Seconds => "_seconds",
            FamilyUnit::Bytes => "_bytes",
        };
        let total = if self.kind == FamilyKind::Counter { "_total" } else { "" };
        format!("loadstone_{}{unit}{total}", self.stem)
    }
}
