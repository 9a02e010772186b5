//! A comparison as data. It is also the schema of `comparison.json`, which docs/compare.md describes.

use serde::{Deserialize, Serialize};

use crate::{Grade, RuleId, Subject};

/// Two runs of a test as one model: the differences between their conditions, the results, and whether the candidate is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunComparison {
    /// Version of this schema: 1.
    pub schema: u32,
    pub baseline: ComparedRun,
    pub candidate: ComparedRun,
    /// Smallest relative change that matters: 0.03 for 3 %.
    pub effect: f64,
    /// Expected share of false positives among the rows that are reported as different.
    pub false_share: f64,
    pub verdict: ComparisonVerdict,
    /// The reason for the verdict, with its most important numbers. The verdict itself is not part of it.
    pub headline: String,
    /// Conditions that should be the same and are not, those that forbid a comparison first.
    pub differences: Vec<RunDifference>,
    pub subjects: Vec<ComparedSubject>,
    pub findings: Vec<FindingMove>,
    /// Thresholds that one run passed and the other failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdMove>,
    /// The gates: allowed changes for the worse, and whether they were exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
}

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedRun {
    pub id: String,
    pub test: String,
    pub started: String,
    pub tags: Vec<String>,
    pub duration_seconds: f64,
    pub requests: u64,
    pub grade: Grade,
}

/// The verdict over all rows except the system's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    Better,
    Worse,
    /// Some rows are better, others worse.
    Mixed,
    /// Every decided row is the same.
    Same,
    CannotTell,
    /// The runs cannot be compared: see the differences.
    NotComparable,
}

/// A condition that should be the same in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunDifference {
    /// `load`, `script`, `parameter`, `machine`, `validity`, …
    pub what: String,
    pub baseline: String,
    pub candidate: String,
    /// With this difference, no change can be attributed to the system.
    pub forbids: bool,
    /// The consequence for the comparison.
    pub meaning: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// All requests together.
    All,
    Request,
    Group,
    Scenario,
    Flow,
    /// Resource use of the system: processes and control groups.
    Target,
    /// A custom metric of the test, or a part of it by tags.
    Metric,
    Signal,
}

impl SubjectKind {
    /// Whether a higher or a lower value is known to be better.
    pub fn has_known_direction(self) -> bool {
        !matches!(self, SubjectKind::Metric | SubjectKind::Signal)
    }
}

/// Something that one or both runs measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedSubject {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Measured in only one run, so there is nothing to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_in: Option<Side>,
    pub rows: Vec<ComparedRow>,
    /// The change of each quantile; empty where there are too few samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shift: Vec<ShiftPoint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Baseline,
    Candidate,
}

/// The quantity of a row, which also determines the unit; a signal has its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Per second.
    Rate,
    /// Share, 0 to 1.
    Failures,
    /// Response time in seconds.
    Mean,
    P50,
    P90,
    P95,
    P99,
    P999,
    /// CPU seconds of the target's processes per served request.
    CpuPerRequest,
    /// Bytes, mean over the run.
    Memory,
    /// The mean of a signal or of a custom metric, in its unit. The other three are quantiles of a custom metric.
    Value,
    ValueP50,
    ValueP95,
    ValueP99,
    /// The increase of a counter per second.
    AddedRate,
    /// The share of true values of a rate, 0 to 1.
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    Better,
    Worse,
    /// Within the smallest change that matters.
    Same,
    /// It differs, but the better direction is unknown: a signal or a custom metric.
    Moved,
    CannotTell,
}

/// One number, measured in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedRow {
    pub metric: ComparedMetric,
    /// The unit of a signal or a custom metric.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    pub baseline: Option<f64>,
    pub candidate: Option<f64>,
    /// The sides whose number is only a lower bound, because the percentile lies among requests that had not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<Side>,
    /// Candidate divided by baseline; for failures and shares, candidate minus baseline. With a lower bound on one side, the minimum
    /// change.
    pub change: Option<f64>,
    /// The 95 % interval of the change. An end that the samples do not determine is absent.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Probability of a difference this large between runs of a system that did not change.
    pub p: Option<f64>,
    pub verdict: RowVerdict,
    /// If undecided: the required length of each run, assuming that change and variance remain the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes_needed: Option<f64>,
    /// If undecided: the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl ComparedRow {
    /// Whether the change and its interval are written as factors: one of them is × 10 or more.
    pub fn reads_as_factor(&self) -> bool {
        !self.metric.is_difference()
            && [self.change, self.low, self.high].into_iter().flatten().any(|ratio| ratio >= loadstone_units::FACTOR_MIN)
    }

    /// Whether the row's own interval excludes no change.
    pub(super) fn excludes_no_change(&self) -> bool {
        let none = if self.metric.is_difference() { 0.0 } else { 1.0 };
        self.low.is_some_and(|low| low > none) || self.high.is_some_and(|high| high < none)
    }
}

/// A point of the shift function (Doksum, "Empirical probability plots and statistical inference for nonlinear models in the two-sample
/// case", 1974): the change of one quantile. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ShiftPoint {
    pub quantile: f64,
    pub baseline: f64,
    pub candidate: f64,
    /// Ends of the ratio's 95 % interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    New,
    Gone,
    /// The same finding with other numbers.
    Moved,
    Same,
}

/// A finding of either run and its counterpart in the other run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FindingMove {
    pub state: FindingState,
    pub rule: RuleId,
    pub subject: Subject,
    /// The claims.
    pub baseline: Option<String>,
    pub candidate: Option<String>,
}

/// A threshold that one run passed and the other failed. Both results are decided: see the thresholds of either run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ThresholdMove {
    pub label: String,
    /// The run that failed.
    pub failed: Side,
    /// The candidate's result in one sentence.
    pub detail: String,
}

impl ThresholdMove {
    /// The baseline passed and the candidate failed.
    pub fn is_broken(&self) -> bool {
        self.failed == Side::Candidate
    }
}

/// A condition that makes the candidate fail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparisonGate {
    /// The condition as the user wrote it.
    pub label: String,
    /// `None`: any metric.
    pub metric: Option<ComparedMetric>,
    /// The request, group, scenario, flow or process. `None`: all requests together, and each process of the target.
    pub name: Option<String>,
    /// Relative; for failures, a difference of shares.
    pub by: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    Held,
    Failed,
    /// The measurement decides neither.
    Undecided,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GateResult {
    pub gate: ComparisonGate,
    pub state: GateState,
    /// One sentence.
    pub detail: String,
}

/// The percentiles of response times that are compared.
pub(super) const PERCENTILES: [(ComparedMetric, f64); 5] = [
    (ComparedMetric::P50, 0.5),
    (ComparedMetric::P90, 0.9),
    (ComparedMetric::P95, 0.95),
    (ComparedMetric::P99, 0.99),
    (ComparedMetric::P999, 0.999),
];

impl ComparedMetric {
    /// The name in reports: `p99`, `CPU per request`.
    pub fn name(self) -> &'static str {
        match self {
            ComparedMetric::Rate => "rate",
            ComparedMetric::Failures => "failures",
            ComparedMetric::Mean => "mean",
            ComparedMetric::P50 => "p50",
            ComparedMetric::P90 => "p90",
            ComparedMetric::P95 => "p95",
            ComparedMetric::P99 => "p99",
            ComparedMetric::P999 => "p99.9",
            ComparedMetric::CpuPerRequest => "CPU per request",
            ComparedMetric::Memory => "memory",
            ComparedMetric::Value => "mean",
            ComparedMetric::ValueP50 => "p50",
            ComparedMetric::ValueP95 => "p95",
            ComparedMetric::ValueP99 => "p99",
            ComparedMetric::AddedRate => "per second",
            ComparedMetric::Share => "share",
        }
    }

    /// The change is a difference, not a ratio, because shares may be zero.
    pub fn is_difference(self) -> bool {
        matches!(self, ComparedMetric::Failures | ComparedMetric::Share)
    }

    /// Whether a higher value is better; `None`: unknown.
    pub(crate) fn more_is_better(self) -> Option<bool> {
        match self {
            ComparedMetric::Rate => Some(true),
            ComparedMetric::Value
            | ComparedMetric::ValueP50
            | ComparedMetric::ValueP95
            | ComparedMetric::ValueP99
            | ComparedMetric::AddedRate
            | ComparedMetric::Share => None,
            _ => Some(false),
        }
    }
}

impl RunComparison {
    /// The headline with the verdict where it does not follow from the headline alone.
    pub fn sentence(&self) -> String {
        match self.verdict {
            ComparisonVerdict::Better => format!("better: {}", self.headline),
            ComparisonVerdict::Worse => format!("worse: {}", self.headline),
            ComparisonVerdict::CannotTell => format!("cannot tell: {}", self.headline),
            ComparisonVerdict::Mixed | ComparisonVerdict::Same | ComparisonVerdict::NotComparable => self.headline.clone(),
        }
    }

    /// Every row with its subject.
    pub fn rows(&self) -> impl Iterator<Item = (&ComparedSubject, &ComparedRow)> {
        self.subjects.iter().flat_map(|subject| subject.rows.iter().map(move |row| (subject, row)))
    }
}
