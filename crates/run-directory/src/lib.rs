//! The run directory: what was measured, on disk, in open formats.
//!
//! Read [`Run`] first (a complete run in memory), then `files` (the files of a directory), [`Writer`] and [`Reader`]. The format
//! is described in docs/run-directory.md. Deliberately absent: conclusions. Verdicts and reports can be deleted and rebuilt from
//! the measurements; this crate only stores their bytes.

mod disk;
mod error;
pub mod export;
pub mod files;
mod fold;
mod history;
mod json;
mod line;
mod model;
mod notes;
mod parts;
mod reader;
mod readings;
mod run_traces;
mod signal_lines;
mod stretch;
mod writer;

pub use error::RunError;
pub use history::{History, HistoryEntry};
pub use model::{AgentInfo, HostFacts, KeptFailure, KeptSecond, Run, RunEnd, RunInfo, SignalSeries, Stretch};
pub use notes::Notes;
pub use reader::Reader;
pub use run_traces::RunTraces;
pub use writer::Writer;
