//! Conclusions from a run. Pure: no I/O, no clock, no async; the same run always gives the same verdict.
//!
//! Read [`Verdict`] first, then [`Summary`] (all the numbers that any surface shows). [`conclude`] computes them for a run that is over.
//! [`LiveAnalysis`] follows a run in progress, and [`Provisional`] has its findings so far. `facts` holds facts about the system under
//! test, computed once. The rules in `findings` read only facts and report what limits the system. Definitions: docs/metrics.md,
//! docs/validity.md and docs/findings.md.

mod advice_terms;
mod capacity;
mod censored;
mod change_rows;
mod comparison;
mod conclude;
mod evidence;
mod experiment;
mod facts;
mod finding;
mod findings;
mod flows;
mod instant;
mod live;
mod load_source;
mod load_time;
mod model;
mod moved;
mod own_metrics;
mod percentile;
mod profile_rows;
mod provisional;
mod remark;
mod request_names;
mod resources;
mod run_trend;
mod span_rows;
mod statistics;
mod summary;
mod table;
mod tally;
mod thresholds;
mod time_stats;
mod uncertainty;
mod validity;

pub use advice_terms::{AdviceTerms, WantedObserver};
pub use capacity::{
    Capacity, CapacityEnd, CapacityInterval, CapacityProbe, CapacitySettings, CapacityStep, CapacityVerdict, LoadUnit, ObjectiveReading,
    ProbeDisturbance, ProbeLean, ProbeReading, ProbeReason, RampEstimate, RampPoint, ResourceCeiling, ScalabilityLaw, UnknownCeiling,
    WhatIf, next_step, objective_problem,
};
pub use comparison::{
    ComparedInput, ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonGate, ComparisonVerdict, EFFECT, FindingMove,
    FindingState, GateResult, GateState, LoadShape, RowVerdict, RunComparison, RunDifference, ShiftPoint, Side, SubjectKind, ThresholdMove,
    compare,
};
pub use conclude::{conclude, conclude_in_place};
pub use experiment::{
    BlockNumber, BlockRecord, EXPERIMENT_EFFECT, Experiment, ExperimentRow, ExperimentStop, ExperimentSubject, KnobContrast, KnobScale,
    KnobTrial, NextBlock, Sensitivity, SensitivityMetric, TrialSettings, TrialValue, names_knob,
};
pub use finding::rule::Rule;
pub use finding::{
    Alternative, Confidence, Evidence, Finding, FindingProof, Findings, MissingKnowledge, ProofState, Quantity, QuantityUnit, Remark,
    RemarkKind, RuleId, Subject,
};
pub use findings::rules;
pub use flows::{FlowDrain, FlowRow, FlowStageRow, FlowTally};
pub use live::{LiveAnalysis, LiveStatus, LiveTimes};
pub use load_source::LoadSource;
pub use model::{
    ChangeRow, ChangedThing, CheckLevel, CheckRow, ErrorRow, ErrorSample, Grade, ProfiledStack, RequestRow, RequestSpans, ResourceKind,
    ResourceRow, ResourceUse, RunTotals, RuntimeProfile, SignalRow, SpanRow, Summary, TaggedRow, ThresholdResult, ThresholdState, Validity,
    ValidityCheck, Verdict,
};
pub use own_metrics::{MetricRow, in_unit};
pub use percentile::LISTED;
pub use provisional::{Provisional, WithdrawnFinding};
pub use request_names::RequestNames;
pub use run_trend::{RunTrend, TrendInput, TrendMetric, TrendNumbers, TrendRun, TrendSeries, TrendStep};
pub use statistics::{SAMPLES_BEYOND_MIN, samples_needed};
pub use table::totals_table;
pub use tally::{LeafTally, RunTally, SeriesTally, SliceTotals, WorkerTally};
pub use thresholds::{ThresholdFailure, Thresholds, evaluate};
pub use time_stats::{Percentile, TimeStats};
pub use uncertainty::UNUSABLE_SHARE_MIN;
