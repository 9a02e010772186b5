//! An experiment as data. It is also the schema of `experiment.json`, which docs/experiment.md describes.

use serde::{Deserialize, Serialize};

use crate::{ComparedMetric, ComparisonVerdict, FindingProof, Grade, RowVerdict, SubjectKind};

/// The effect of changing a knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Version of this schema: 1.
    pub schema: u32,
    pub test: String,
    pub knob: String,
    /// Its values; the others are compared with the first.
    pub values: Vec<String>,
    /// Number of rounds that count: one block with each value.
    pub rounds: usize,
    /// Number of excluded rounds, because a block's measurement was INVALID.
    pub left_out: usize,
    pub block_seconds: u64,
    /// Seconds at the start of each block that are excluded.
    pub warm_up_seconds: u64,
    /// Smallest relative change that matters: 0.1 for 10 %.
    pub effect: f64,
    pub stop: ExperimentStop,
    /// The comparison of each value with the first.
    pub contrasts: Vec<KnobContrast>,
    /// If the values are durations: the effect of each unit of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivities: Vec<Sensitivity>,
    /// The result for the finding that the experiment tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<FindingProof>,
    /// Limitations of the conclusions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    pub blocks: Vec<BlockRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why", content = "problem")]
pub enum ExperimentStop {
    /// Not finished.
    Running,
    /// All deciding rows are decided.
    Decided,
    /// The limit on rounds was reached.
    Limit,
    /// Too many rounds were excluded because of INVALID measurements.
    Spoilt,
    /// Interrupted by the user.
    Interrupted,
    /// An error occurred.
    Failed(String),
}

/// One block of the load under one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// Counted from 0.
    pub round: usize,
    pub value: String,
    /// Id of the run.
    pub run: String,
    pub grade: Grade,
    /// Why the measurement is INVALID, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_because: Option<String>,
    /// The deciding numbers of this block. Empty while the first round is in progress.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<BlockNumber>,
}

/// A number of one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockNumber {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub metric: ComparedMetric,
    pub value: Option<f64>,
}

/// The comparison of one value with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnobContrast {
    pub from: String,
    pub to: String,
    /// The verdict of the deciding rows.
    pub verdict: ComparisonVerdict,
    pub headline: String,
    pub subjects: Vec<ExperimentSubject>,
}

/// Something that was measured in every block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSubject {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub rows: Vec<ExperimentRow>,
}

/// One number under both values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRow {
    pub metric: ComparedMetric,
    /// Over the rounds: geometric means; for failures, means.
    pub from: Option<f64>,
    pub to: Option<f64>,
    /// `to` divided by `from`; for failures, `to` minus `from`.
    pub change: Option<f64>,
    /// The 95 % interval, which is valid at all rounds together.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Evidence against "no change", as the logarithm of an e-value.
    pub ln_e: Option<f64>,
    pub verdict: RowVerdict,
    /// The experiment continues until this row is decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// If undecided: the total number of rounds needed, assuming that change and variance remain the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<usize>,
    /// If undecided: the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityMetric {
    /// Seconds of mean response time per second of delay.
    Mean,
    /// Requests per second per second of delay.
    Rate,
}

/// The sensitivity of a number to the delay that the knob adds: dR/dd and dX/dd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub metric: SensitivityMetric,
    pub slope: f64,
    /// The 95 % interval, which is valid at all rounds together.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// In words, if the interval supports it: `each ms of delay adds 9.8 ms to "Check out" (9.6 to 10.0): 10 sequential round trips`.
    pub sentence: String,
}
