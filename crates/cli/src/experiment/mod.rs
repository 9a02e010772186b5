//! Runs an experiment: blocks of load, with a knob changed between them. `loadstone_analysis::KnobTrial` interprets the result.
//!
//! Read [`ExperimentRun`] first. `turn` changes the knob and restores it, `progress` shows the progress, `record` stores the result.

mod guardian;
mod host;
mod progress;
mod record;
mod run;
mod shell;
mod turn;

pub(crate) use record::{answer, folder, proofs};
pub(crate) use run::{ExperimentEnd, ExperimentRun, put_back};
