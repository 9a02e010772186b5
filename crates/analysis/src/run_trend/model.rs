//! A trend as data. This is also the schema of `loadstone trend --json`, which docs/trend.md describes.

use serde::{Deserialize, Serialize};

/// A run of the test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrendRun {
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Of what was tested, where it is known.
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
    /// Place of the first run of the new level in [`RunTrend::runs`], and of the last of the old one.
    pub at: usize,
    pub before_at: usize,
    /// By how many runs it may be off either way.
    pub at_error: u64,
    /// Means of the runs of both levels, in seconds or shares; of times the geometric mean.
    pub before: f64,
    pub after: f64,
    /// `after` divided by `before`, of failures the difference, with its 95 % interval.
    pub change: f64,
    pub low: f64,
    pub high: f64,
    /// Chance that runs of a system that never changed show one as clear, anywhere in the series.
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
    /// One for each run of [`RunTrend::runs`]; `None` where a run did not measure it.
    pub values: Vec<Option<f64>>,
    /// By how much single runs of one level differ: two standard deviations, relative; of failures as a share.
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
    /// Those with a step come first.
    pub series: Vec<TrendSeries>,
    /// The chance, at most, that any step is told of a test that never changed.
    pub false_chance: f64,
    /// In a sentence.
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

    /// A difference and not a ratio: shares may be zero.
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
    /// More is worse, of times and failures alike.
    pub fn is_worse(&self) -> bool {
        self.after > self.before
    }
}
