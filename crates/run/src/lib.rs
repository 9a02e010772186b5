//! The run directory: what was measured, on disk, in open formats.
//!
//! Read [`Run`] first (a whole run in memory), then `format` (the files). Deliberately absent: anything concluded.
//! Verdicts and reports can be deleted and are rebuilt from what stands here.

mod model;

pub use model::{HostFacts, Run, RunEnd, RunInfo, SignalSeries};
