//! Custom metrics: numbers that a test declares and its script records in addition to requests.

use serde::{Deserialize, Serialize};

/// How the values of a metric are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Their distribution.
    Trend,
    /// Their sum.
    Counter,
    /// The value that was set last.
    Gauge,
    /// The share of values that were true.
    Rate,
}

/// A metric that the test declares. Scripts name it by its index in [`crate::TestPlan::metrics`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredMetric {
    pub name: String,
    pub kind: MetricKind,
    /// The unit in the test's words: `EUR`, `ms`. May be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}

impl DeclaredMetric {
    /// Maximum number of metrics in one test.
    pub const MAX: usize = 200;
}
