//! What was asked: the test plan, frozen and validated before any load starts.
//!
//! Read [`TestPlan`] first, then [`Load`] (the tree of what runs when) and [`LoadProfile`] (how much of it).
//! [`TestPlan::secrets`] and `hiding` keep what nobody may read out of all that is shown. Deliberately absent: clocks, I/O, anything measured.
//! Everything here is plain data that serialises to `plan.json` in a run directory, and pure functions over it.

mod flow;
mod hiding;
mod load;
mod parameter;
mod profile;
mod threshold;
mod validate;

pub use flow::FlowSpec;
pub use load::{Load, ScenarioId, ScenarioRun};
pub use parameter::{Origin, Parameter, ParameterKind, ParameterValue};
pub use profile::{ClosedStage, IterationSplit, LoadProfile, OpenStage, Timing};
pub use secrets::Secrets;
pub use threshold::{Aggregate, Bound, Comparison, Metric, Selector, Threshold, Window};
pub use validate::PlanError;

use serde::{Deserialize, Serialize};

/// A scenario's name and the options that hold for every user that runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
}

/// Limits and switches that hold for the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Seed of every random draw of the run; the same seed and plan repeat the same draws.
    pub seed: u64,
    /// How long running iterations may go on after their load profile has ended. Nanoseconds.
    pub graceful_stop_ns: u64,
    /// Time limit of one request unless it sets its own. Nanoseconds.
    pub request_timeout_ns: u64,
    /// Most series (request names, groups, …) that are kept apart; later names share one series `(other)`.
    pub series_max: u32,
    /// Response bodies larger than this fail the request. Bytes.
    pub body_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, graceful_stop_ns: 30_000_000_000, request_timeout_ns: 30_000_000_000, series_max: 500, body_bytes_max: 64 << 20 }
    }
}

/// Everything that was asked of a run. Build it, call [`TestPlan::validate`], and do not change it afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestPlan {
    /// Name of the test: the file's stem, or the URL's host for a run without a script.
    pub name: String,
    /// Base URL that relative request paths are resolved against.
    pub target: Option<String>,
    pub parameters: Vec<Parameter>,
    /// Indexed by [`ScenarioId`].
    pub scenarios: Vec<Scenario>,
    pub load: Load,
    pub thresholds: Vec<Threshold>,
    /// Observers as their builders described them (`{"kind": "process", …}`); read by the binary.
    #[serde(default)]
    pub observers: Vec<serde_json::Value>,
    /// Journeys that the test follows; events name them by their place in this list.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// Simulated endpoints as the test describes them; read by `script`, which runs them.
    #[serde(default)]
    pub stubs: Vec<serde_json::Value>,
    pub options: Options,
    /// What no output may show of this run: true values of secret parameters, credentials. Known only in the process that resolved them.
    #[serde(skip)]
    pub secrets: Secrets,
}
