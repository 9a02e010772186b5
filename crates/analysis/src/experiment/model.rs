//! An experiment as data. This is also the schema of `experiment.json`, which docs/experiment.md describes.

use serde::{Deserialize, Serialize};

use crate::{ComparedMetric, ComparisonVerdict, FindingProof, Grade, RowVerdict, SubjectKind};

/// What turning a knob did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Version of this schema: 1.
    pub schema: u32,
    pub test: String,
    pub knob: String,
    /// Its values; the first is what the others are held against.
    pub values: Vec<String>,
    /// Rounds that count: one block with each value.
    pub rounds: usize,
    /// Rounds that do not, since a block's measurement was INVALID.
    pub left_out: usize,
    pub block_seconds: u64,
    /// Seconds at the start of each block that are left out.
    pub warm_up_seconds: u64,
    /// Relative change below which nobody cares: 0.1 for 10 %.
    pub effect: f64,
    pub stop: ExperimentStop,
    /// Each value against the first.
    pub contrasts: Vec<KnobContrast>,
    /// Where the values are durations: what each unit of time costs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitivities: Vec<Sensitivity>,
    /// What became of the finding whose experiment this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<FindingProof>,
    /// What limits the conclusions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    pub blocks: Vec<BlockRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why", content = "problem")]
pub enum ExperimentStop {
    /// Not yet.
    Running,
    /// Everything that decides is decided.
    Decided,
    /// As many rounds as were allowed.
    Limit,
    /// Too many rounds were left out, as a measurement in them was INVALID.
    Spoilt,
    /// By the user.
    Interrupted,
    /// Something broke.
    Failed(String),
}

/// One block of the load under one value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRecord {
    /// From 0.
    pub round: usize,
    pub value: String,
    /// Id of its run.
    pub run: String,
    pub grade: Grade,
    /// Why its measurement is INVALID, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_because: Option<String>,
    /// What decides, as it was in this block. None while the first round goes on.
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

/// One value held against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnobContrast {
    pub from: String,
    pub to: String,
    /// By the rows that decide.
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
    /// Over the rounds: geometric means, of failures means.
    pub from: Option<f64>,
    pub to: Option<f64>,
    /// `to` divided by `from`; of failures `to` less `from`.
    pub change: Option<f64>,
    /// Its 95 % interval, which holds at all rounds together.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Evidence against no change, as the logarithm of an e-value.
    pub ln_e: Option<f64>,
    pub verdict: RowVerdict,
    /// The experiment goes on until this row is decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// When it cannot tell: how many rounds it needs in all, if what was seen stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<usize>,
    /// When it cannot tell: why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityMetric {
    /// Seconds of mean response time for each second of delay.
    Mean,
    /// Requests per second for each second of delay.
    Rate,
}

/// By how much a number grows with the delay that the knob adds: dR/dd and dX/dd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    pub kind: SubjectKind,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub metric: SensitivityMetric,
    pub slope: f64,
    /// Its 95 % interval, which holds at all rounds together.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// In words, where the interval carries it: `each ms costs "Check out" 9.8 ms (9.6 to 10.0): ten round trips`.
    pub sentence: String,
}
