//! A trend as data. It is also the schema of `loadstone trend --json`, which docs/trend.md describes.

use serde::{Deserialize, Serialize};

/// A run of the test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrendRun {
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Commit of the tested system, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendMetric {
    P50,
    P95,
    P99,
    /// Share, 0 to 1.
    Failures,
}

/// The level of a series changed from one run to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendStep {
    /// Index in [`RunTrend::runs`] of the first run of the new level (`at`), and of the last run of the old one (`before_at`).
    pub at: usize,
    pub before_at: usize,
    /// Number of runs by which `at` may be off in either direction.
    pub at_error: u64,
    /// Means over the runs of both levels, in seconds or shares; for times, the geometric mean.
    pub before: f64,
    pub after: f64,
    /// `after` divided by `before` (for failures the difference), with its 95 % interval.
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Probability that runs of an unchanged system have a step this clear anywhere in the series.
    pub p: f64,
    pub runs_before: u64,
    pub runs_after: u64,
}

/// One number over the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrendSeries {
    /// Name of the request; `None`: all requests together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    pub metric: TrendMetric,
    /// One for each run of [`RunTrend::runs`]; `None` if a run did not measure it.
    pub values: Vec<Option<f64>>,
    /// Variation of single runs of one level: two standard deviations, relative; for failures as a share.
    pub noise: Option<f64>,
    /// In the order of the runs.
    pub steps: Vec<TrendStep>,
    /// Mean of the last level.
    pub level: Option<f64>,
}

/// A test over its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunTrend {
    /// Version of this schema: 1.
    pub schema: u32,
    pub test: String,
    /// The oldest first.
    pub runs: Vec<TrendRun>,
    /// Series with a step first.
    pub series: Vec<TrendSeries>,
    /// Maximum probability that any step is reported for an unchanged system.
    pub false_chance: f64,
    /// The result in one sentence.
    pub headline: String,
}

impl TrendMetric {
    pub fn name(self) -> &'static str {
        match self {
            TrendMetric::P50 => "p50",
            TrendMetric::P95 => "p95",
            TrendMetric::P99 => "p99",
            TrendMetric::Failures => "failures",
        }
    }

    /// The change is a difference, not a ratio, because shares may be zero.
    pub fn is_difference(self) -> bool {
        self == TrendMetric::Failures
    }
}

impl TrendSeries {
    /// `p95 of "Buy"`.
    pub fn title(&self) -> String {
        match &self.request {
            Some(request) => format!("{} of \"{request}\"", self.metric.name()),
            None => format!("{} of all requests", self.metric.name()),
        }
    }
}

impl TrendStep {
    /// Higher is worse, for times and failures alike.
    pub fn is_worse(&self) -> bool {
        self.after > self.before
    }
}
