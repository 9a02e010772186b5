//! What can be concluded from a run. Pure: no I/O, no clock, no async; the same run always gives the same verdict.
//!
//! Read [`Verdict`] first, then [`Summary`] (the numbers; every surface shows these and no others). [`conclude`] makes them of a
//! run that is over; [`LiveAnalysis`] follows one that is not, and [`Provisional`] is what it shows so far of its system. `facts` holds what a run
//! shows about its system, computed once; the rules in `findings` read facts, and nothing else, to say what limits it. Definitions:
//! docs/metrics.md, docs/validity.md and docs/findings.md.

mod capacity;
mod censored;
mod change_rows;
mod comparison;
mod conclude;
mod doubt;
#[cfg(test)]
mod draws;
mod evidence;
mod experiment;
mod facts;
mod finding;
mod findings;
mod flows;
mod instant;
mod interval;
mod live;
mod load_time;
mod model;
mod moved;
mod own_metrics;
mod percentile;
mod profile_rows;
mod provisional;
mod remark;
mod resources;
mod robust;
mod run_trend;
mod shift;
mod span_rows;
mod summary;
mod table;
mod tally;
mod thresholds;
mod time_stats;
mod trend;
mod validity;

pub use capacity::{
    Capacity, CapacityEnd, CapacityInterval, CapacityProbe, CapacitySettings, CapacityStep, CapacityVerdict, LoadUnit, ObjectiveReading,
    ProbeDisturbance, ProbeLean, ProbeReading, ProbeReason, RampEstimate, RampPoint, ResourceCeiling, ScalabilityLaw, UnknownCeiling,
    WhatIf, next_step, objective_problem,
};
pub use comparison::{
    ComparedInput, ComparedMetric, ComparedRow, ComparedRun, ComparedSubject, ComparisonGate, ComparisonVerdict, EFFECT, FindingMove,
    FindingState, GateResult, GateState, LoadShape, RowVerdict, RunComparison, RunDifference, ShiftPoint, Side, SubjectKind, compare,
};
pub use conclude::conclude;
pub use experiment::{
    BlockNumber, BlockRecord, EXPERIMENT_EFFECT, Experiment, ExperimentRow, ExperimentStop, ExperimentSubject, KnobContrast, KnobScale,
    KnobTrial, NextBlock, Sensitivity, SensitivityMetric, TrialSettings, TrialValue, names_knob,
};
pub use finding::rule::Rule;
pub use finding::{
    Alternative, Finding, FindingProof, Findings, MissingKnowledge, ProofState, Quantity, QuantityUnit, Remark, RemarkKind, RuleId, Subject,
};
pub use findings::rules;
pub use flows::{FlowDrain, FlowRow, FlowStageRow, FlowTally};
pub use live::{LiveAnalysis, LiveStatus, LiveTimes};
pub use model::{
    ChangeRow, ChangedThing, CheckRow, Confidence, ErrorRow, ErrorSample, Evidence, Grade, ProfiledStack, RequestRow, RequestSpans,
    ResourceKind, ResourceRow, ResourceUse, RunTotals, RuntimeProfile, SignalRow, SpanRow, Summary, TaggedRow, ThresholdResult,
    ThresholdState, Validity, ValidityCheck, Verdict,
};
pub use own_metrics::{MetricRow, in_unit};
pub use percentile::{LISTED, SAMPLES_BEYOND_MIN, samples_needed};
pub use provisional::{Provisional, WithdrawnFinding};
pub use run_trend::{RunTrend, TrendInput, TrendMetric, TrendNumbers, TrendRun, TrendSeries, TrendStep};
pub use table::totals_table;
pub use tally::{LeafTally, RunTally, SeriesTally, SliceTotals, WorkerTally};
pub use thresholds::{ThresholdFailure, Thresholds, evaluate};
pub use time_stats::{Percentile, TimeStats};
