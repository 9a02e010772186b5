//! An experiment as a command makes it: blocks of load with a knob turned between them. What it means is `loadstone_analysis::KnobTrial`'s to say.
//!
//! Read [`ExperimentRun`] first; `turn` does to the system what a knob says, and undoes it; `progress` tells how far it is; `record` keeps what was learnt.

mod guardian;
mod host;
mod progress;
mod record;
mod run;
mod shell;
mod turn;

pub(crate) use record::{answer, folder, proofs};
pub(crate) use run::{ExperimentEnd, ExperimentRun, put_back};
