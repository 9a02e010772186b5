//! Measurements: the clock, samples, histograms, and the snapshots that carry them.
//!
//! Read [`Sample`] first (one request, group or iteration; [`flow`]s are journeys that cross systems). Then read [`Recorder`] (one per worker, single
//! owner) and [`Snapshot`] (one second of one worker). A snapshot is the only measurement that crosses a thread, a wire, a disk or the live page.
//! [`span`] has what the spans of traces show. [`Signal`]s are the system's own numbers, and a [`Role`] is the meaning of one. Deliberately absent:
//! percentile intervals and verdicts (`analysis`), file formats (`run-directory`), sockets.

pub mod clock;
mod error_cause;
mod failure_sample;
pub mod flow;
mod fold;
mod hiding;
mod histogram;
mod histogram_columns;
mod outcome;
mod own_metric;
mod record_slice;
mod recorder;
mod sample;
mod series;
mod series_recording;
mod signal;
mod snapshot;
pub mod span;
mod tagged;
mod tags;
mod trace;
mod value_histogram;

pub use clock::{LATE_READ_MAX_NS, Nanos, late_read_max_ns};
pub use error_cause::{ErrorCause, ErrorText};
pub use failure_sample::FailureSample;
pub use flow::{FlowBook, FlowDefinition, FlowEvent, FlowKey, FlowSlice, FlowStageSlice, FlowStep};
pub use histogram::Histogram;
pub use histogram_columns::HistogramColumns;
pub use outcome::Outcome;
pub use own_metric::{GaugeValue, MetricId, MetricSlice, MetricValue};
pub use record_slice::{CommandEnd, ProxyDelays, RecordSlice, StatedPercentile, StatedTimes};
pub use recorder::Recorder;
pub use sample::{Phases, Sample};
pub use series::{SeriesId, SeriesKey, SeriesKind};
pub use signal::{
    NoticeKind, PoolMembers, Role, Signal, SignalBatch, SignalKind, SignalNotice, SignalPoint, function_labels, stub_observer, unit,
};
pub use snapshot::{
    AgentSlice, ErrorGroup, GeneratorSlice, LeafChange, LeafSlice, Mark, MarkKind, PhaseSlice, SeriesSlice, SlowSample, Snapshot,
    TaggedSlice,
};
pub use tagged::TaggedId;
pub use tags::Tags;
pub use trace::{NotATraceId, TraceId};
pub use value_histogram::ValueHistogram;
