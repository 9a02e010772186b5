//! What travels from a source of signals to whoever records them: readings, and what befell the source.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::time_series::{Signal, SignalPoint};
use crate::clock::Nanos;
use crate::flow::FlowEvent;
use crate::span::TraceBatch;

/// What one source read since its last batch, and what befell it.
#[derive(Debug, Clone)]
pub struct SignalBatch {
    /// The observer that its signals belong to.
    pub observer: Arc<str>,
    pub points: Vec<(Arc<Signal>, SignalPoint)>,
    pub notices: Vec<SignalNotice>,
    /// What it has learnt of journeys.
    pub flow_events: Vec<FlowEvent>,
    /// What it has learnt of the run's traces.
    pub traces: TraceBatch,
}

/// Something a reader of the signals must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalNotice {
    pub observer: Arc<str>,
    /// On the run's clock.
    pub at: Nanos,
    #[serde(flatten)]
    pub kind: NoticeKind,
    /// For people.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NoticeKind {
    /// It could not read; a gap begins. Sent once per gap.
    Failed,
    /// It reads again; the gap began at `since`.
    Recovered { since: Nanos },
    /// Some of what it saw was not taken: too many series, or nobody emptied the channel.
    Incomplete,
    /// Something to know of what it reads; nothing is missing for it.
    Remark,
}
