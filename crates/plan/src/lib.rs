//! The test plan: what was asked of a run, frozen and validated before any load starts.
//!
//! Read [`TestPlan`] first, then [`Load`] (the tree of what runs when) and [`LoadProfile`] (how much of it). [`TestPlan::secrets`] and
//! `hiding` mask secrets in everything that is shown. Deliberately absent: clocks, I/O, anything measured. Everything here is plain data
//! that serialises to `plan.json` in a run directory, and pure functions over it.

mod declared_metric;
mod flow;
mod hiding;
mod load;
mod options;
mod parameter;
mod profile;
mod recorded_load;
mod replay;
mod steady;
mod test_plan;
mod threshold;
mod validate;

pub use declared_metric::{DeclaredMetric, MetricKind};
pub use flow::FlowSpec;
pub use load::{Load, RunRole, ScenarioId, ScenarioRun, StepPlace};
pub use loadstone_secrets::Secrets;
pub use options::RunOptions;
pub use parameter::{Parameter, ParameterKind, ParameterOrigin, ParameterValue};
pub use profile::{ClosedStage, IterationSplit, LoadModel, LoadProfile, OpenStage, Timing};
pub use recorded_load::RecordedLoad;
pub use replay::{RecordedInstants, ReplayInstants, ReplayStage};
pub use steady::SteadyError;
pub use test_plan::{Scenario, TestLanguage, TestPlan};
pub use threshold::{Aggregate, Bound, Comparison, Metric, Selector, Threshold, Window};
pub use validate::PlanError;
