//! A comparison as data. This is also the schema of `comparison.json`, which docs/compare.md describes.

use serde::{Deserialize, Serialize};

use crate::Grade;

/// Two runs of a test as one model: what differs between them beforehand, what came out, and whether it is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunComparison {
    /// Version of this schema: 1.
    pub schema: u32,
    pub baseline: ComparedRun,
    pub candidate: ComparedRun,
    /// Relative change below which nobody cares: 0.03 for 3 %.
    pub effect: f64,
    /// Of the rows that are called different, the share expected not to be.
    pub false_share: f64,
    pub verdict: ComparisonVerdict,
    /// The verdict in a sentence, with the numbers that it rests on.
    pub headline: String,
    /// What should be the same and is not; what forbids to compare comes first.
    pub differences: Vec<RunDifference>,
    pub subjects: Vec<ComparedSubject>,
    pub findings: Vec<FindingMove>,
    /// What was allowed to become worse, and whether it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
}

/// One of the two.
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

/// What came out, over all rows but the system's signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    Better,
    Worse,
    /// Some rows are better, others worse.
    Mixed,
    /// Every row that could be told is the same.
    Same,
    CannotTell,
    /// The two cannot be held against each other: see the differences.
    NotComparable,
}

/// Something that should be the same in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunDifference {
    /// `load`, `script`, `parameter`, `machine`, `validity`, …
    pub what: String,
    pub baseline: String,
    pub candidate: String,
    /// With it no change can be laid to the system.
    pub forbids: bool,
    /// What it means for the comparison.
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
    /// What the system used: processes and control groups.
    Target,
    /// A metric of the test's own, or a part of it by tags.
    Metric,
    Signal,
}

impl SubjectKind {
    /// Which way of it is better is known.
    pub fn has_a_better_way(self) -> bool {
        !matches!(self, SubjectKind::Metric | SubjectKind::Signal)
    }
}

/// Something that both runs measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedSubject {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Measured in one run alone: there is nothing to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_in: Option<Side>,
    pub rows: Vec<ComparedRow>,
    /// Quantile by quantile; empty where there are too few samples.
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

/// What a row measures. Its unit follows from it; a signal has its own.
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
    /// Of the target's processes: CPU seconds per request served.
    CpuPerRequest,
    /// Bytes, mean over the run.
    Memory,
    /// The mean of a signal, or of a metric of the test's own, in its unit; and quantiles of the latter.
    Value,
    ValueP50,
    ValueP95,
    ValueP99,
    /// What was added to a counter per second.
    AddedRate,
    /// Of a rate: how often it was so, 0 to 1.
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    Better,
    Worse,
    /// Within the effect that matters.
    Same,
    /// It differs, and whether that is good nobody can know: a signal, a metric of the test's own.
    Moved,
    CannotTell,
}

/// One number of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedRow {
    pub metric: ComparedMetric,
    /// Of a signal or a metric of the test's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    pub baseline: Option<f64>,
    pub candidate: Option<f64>,
    /// Whose number is only a lower bound, since it lies among what had not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<Side>,
    /// Candidate divided by baseline; of failures and shares the candidate's less the baseline's. With a lower bound on one side, the least that it
    /// changed.
    pub change: Option<f64>,
    /// The change's 95 % interval; an end that the samples do not carry is absent.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How often a difference as large comes up between runs of a system that did not change.
    pub p: Option<f64>,
    pub verdict: RowVerdict,
    /// When it cannot tell: how long each run would have to be, if what was seen stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes_needed: Option<f64>,
    /// When it cannot tell: why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A point of the shift function (Doksum, "Empirical probability plots and statistical inference for nonlinear models in the two-sample case", 1974):
/// what became of one quantile. Times in seconds.
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
    /// The same thing, with other numbers.
    Moved,
    Same,
}

/// A finding of either run beside its like in the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FindingMove {
    pub state: FindingState,
    pub rule: String,
    /// The claims.
    pub baseline: Option<String>,
    pub candidate: Option<String>,
}

/// A condition under which the candidate fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparisonGate {
    /// As it was written.
    pub label: String,
    /// `None`: anything.
    pub metric: Option<ComparedMetric>,
    /// The request, group, scenario, flow or process; `None`: all requests together, and of what the target used each process.
    pub name: Option<String>,
    /// Relative; of failures a difference of shares.
    pub by: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    Held,
    Failed,
    /// What was measured carries neither.
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

impl ComparedMetric {
    /// As people write it: `p99`, `CPU per request`.
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

    /// The change is a difference, not a ratio: shares may be zero.
    pub fn is_difference(self) -> bool {
        matches!(self, ComparedMetric::Failures | ComparedMetric::Share)
    }

    /// Whether more of it is better; `None`: nobody can know.
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
    /// Every row with what it is about.
    pub fn rows(&self) -> impl Iterator<Item = (&ComparedSubject, &ComparedRow)> {
        self.subjects.iter().flat_map(|subject| subject.rows.iter().map(move |row| (subject, row)))
    }
}
