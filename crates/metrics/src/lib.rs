//! What is measured: the clock, samples, histograms, and the snapshots that carry them.
//!
//! Read [`Sample`] first (one request, one group, one iteration; journeys that cross systems are [`flow`]s), then [`Recorder`]
//! (one per worker, single owner) and [`Snapshot`] (one second of one worker; the only measurement that crosses a thread, a wire,
//! a disk or the live page). [`Signal`]s are the system's own numbers, and [`Role`] says what one means. Deliberately absent:
//! percentile intervals and verdicts (`analysis`), file formats (`run-directory`), sockets.

pub mod clock;
mod failure_sample;
pub mod flow;
mod fold;
mod hiding;
mod histogram;
mod outcome;
mod recorder;
mod sample;
mod series;
mod signal;
mod snapshot;
mod trace;

pub use clock::Nanos;
pub use failure_sample::FailureSample;
pub use flow::{FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowSlice, FlowStageSlice, FlowStep};
pub use histogram::Histogram;
pub use outcome::Outcome;
pub use recorder::{Recorder, SeriesId};
pub use sample::{Phases, Sample};
pub use series::{SeriesKey, SeriesKind};
pub use signal::{NoticeKind, Role, Signal, SignalBatch, SignalKind, SignalNotice, SignalPoint, unit};
pub use snapshot::{ErrorGroup, GeneratorSlice, LeafChange, LeafSlice, Mark, MarkKind, PhaseSlice, SeriesSlice, SlowSample, Snapshot};
pub use trace::{NotATraceId, TraceId};
