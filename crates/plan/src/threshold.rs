//! Thresholds: objectives that a run must meet. `analysis` evaluates them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::MetricKind;

/// The measured quantity. docs/metrics.md defines each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// End − scheduled for the first request of an open iteration, end − started otherwise.
    ResponseTime,
    /// End − started.
    ServiceTime,
    /// Started − scheduled.
    ScheduleLag,
    /// Requests that ended.
    Requests,
    /// Requests that failed. Its rate is the *share* of ended requests, 0 to 1.
    Failures,
    /// Iterations that ended.
    Iterations,
    /// Iterations that failed. Its rate is their *share*, 0 to 1.
    FailedIterations,
    /// Uncaught errors of iterations. Its rate is relative to the iterations that ended.
    ScriptErrors,
    /// Results of `check`. Its rate, in the plans of earlier versions, is the share that *failed*, 0 to 1.
    Checks,
    /// Checks that passed. Its rate is their *share*, 0 to 1.
    PassedChecks,
    /// Checks that failed. Its rate is their *share*, 0 to 1.
    FailedChecks,
    /// Elapsed time of a group, without declared pauses.
    GroupTime,
    /// Time of a flow's journeys from start to finish, or until they reached a stage.
    FlowTime { stage: Option<String> },
    /// Open journeys of a flow, at the end of each second.
    FlowBacklog,
    /// Journeys of a flow that started and did not finish: timed out, or still open when the run ended. Its rate is the *share* of started
    /// journeys, 0 to 1.
    FlowLost,
    /// A signal of an observer, by its full name.
    Signal { name: String },
    /// Whole iterations.
    IterationTime,
    /// A custom metric, in its unit. For a counter, the count is the sum of the added values, and the rate is per second. For a rate, the
    /// count is the number of true values, and the rate is their *share*, 0 to 1.
    Own {
        name: String,
        kind: MetricKind,
        #[serde(default)]
        unit: String,
    },
}

impl Metric {
    /// Whether its rate is a share, from 0 to 1, rather than a number per second.
    pub fn rate_is_share(&self) -> bool {
        matches!(
            self,
            Metric::Own { kind: MetricKind::Rate, .. }
                | Metric::Failures
                | Metric::FailedIterations
                | Metric::ScriptErrors
                | Metric::Checks
                | Metric::PassedChecks
                | Metric::FailedChecks
                | Metric::FlowLost
        )
    }
}

/// Selects series. Empty fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Selector {
    /// Name of a request, group or flow, as shown in the summary.
    pub name: Option<String>,
    pub scenario: Option<String>,
    /// Requests inside this group.
    pub group: Option<String>,
    /// Series that carry all of these tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    Count,
    /// Per second, or a share from 0 to 1: see [`Metric::rate_is_share`].
    Rate,
    Mean,
    Min,
    Max,
    /// 0 < quantile < 1: p99 is 0.99.
    Quantile(f64),
    /// Last value seen. Signals only.
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equals,
}

/// A comparison with a value in the metric's base unit: seconds, a count, a rate per second or a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Bound {
    pub comparison: Comparison,
    pub value: f64,
}

impl Bound {
    pub fn holds(&self, measured: f64) -> bool {
        match self.comparison {
            Comparison::Below => measured < self.value,
            Comparison::AtMost => measured <= self.value,
            Comparison::Above => measured > self.value,
            Comparison::AtLeast => measured >= self.value,
            Comparison::Equals => measured == self.value,
        }
    }
}

/// The period over which a threshold is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Window {
    #[default]
    WholeRun,
    /// Every consecutive window of this length must meet the bound. Whole seconds, at least one.
    Every { seconds: u32 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Threshold {
    pub metric: Metric,
    pub selector: Selector,
    pub aggregate: Aggregate,
    pub bound: Bound,
    #[serde(default)]
    pub window: Window,
    /// Seconds at the start of the run that are ignored (warm-up). Whole seconds.
    #[serde(default)]
    pub after_seconds: u32,
    /// Stop the run as soon as this threshold is certain to fail.
    #[serde(default)]
    pub abort: bool,
    /// Stop the run if the threshold fails at this second or later, although it could still recover. `None`: only when its failure is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub abort_while_failing_after: Option<u32>,
    /// Without data it passes. Otherwise it fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub passes_without_data: bool,
    /// The percentile of a custom metric is a value between the two nearest ranks, as in k6, and not the nearest rank.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub interpolates: bool,
    /// One line for readers: `response time p99 of "Tap response" below 50 ms over 10 s`.
    pub label: String,
}

impl Threshold {
    /// Over the whole run and all series of the metric; without data it fails. `..Threshold::new(…)` changes that.
    pub fn new(label: impl Into<String>, metric: Metric, aggregate: Aggregate, comparison: Comparison, value: f64) -> Self {
        Self {
            metric,
            selector: Selector::default(),
            aggregate,
            bound: Bound { comparison, value },
            window: Window::WholeRun,
            after_seconds: 0,
            abort: false,
            abort_while_failing_after: None,
            passes_without_data: false,
            interpolates: false,
            label: label.into(),
        }
    }
}
