//! Metrics of a test's own: what its script records beside requests.

use serde::{Deserialize, Serialize};

/// What becomes of the values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Their distribution.
    Trend,
    /// Their sum.
    Counter,
    /// The level that was set last.
    Gauge,
    /// The share of those that were true.
    Rate,
}

/// A metric that the test declares; scripts name it by its place in [`crate::TestPlan::metrics`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredMetric {
    pub name: String,
    pub kind: MetricKind,
    /// As the test calls it: `EUR`, `ms`. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl DeclaredMetric {
    /// Most metrics of one test.
    pub const MAX: usize = 200;
}
