//! The message from a source of signals to their recorder: readings, and events of the source.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::time_series::{Signal, SignalPoint};
use crate::clock::Nanos;
use crate::flow::FlowEvent;
use crate::span::TraceBatch;

/// The readings of one source since its last batch, and its events.
#[derive(Debug, Clone)]
pub struct SignalBatch {
    /// The observer to which the signals belong.
    pub observer: Arc<str>,
    pub points: Vec<(Arc<Signal>, SignalPoint)>,
    pub notices: Vec<SignalNotice>,
    /// Events of journeys that the source observed.
    pub flow_events: Vec<FlowEvent>,
    /// Traces of the run that the source received.
    pub traces: TraceBatch,
}

/// An event that a reader of the signals must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalNotice {
    pub observer: Arc<str>,
    /// On the run's clock.
    pub at: Nanos,
    #[serde(flatten)]
    pub kind: NoticeKind,
    /// The message for users.
    pub message: String,
    /// Of a source that cannot read: the reason alone, as a part of a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl SignalNotice {
    pub fn new(observer: &Arc<str>, at: Nanos, kind: NoticeKind, message: String) -> Self {
        Self { observer: Arc::clone(observer), at, kind, message, reason: String::new() }
    }

    /// The source cannot read. `kind` is [`NoticeKind::Failed`] or [`NoticeKind::TimedOut`].
    pub fn silence(observer: &Arc<str>, at: Nanos, kind: NoticeKind, reason: String) -> Self {
        let message = format!("{observer} cannot read: {reason}");
        Self { reason, ..Self::new(observer, at, kind, message) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NoticeKind {
    /// The source could not read, and a gap begins. Sent once per gap.
    Failed,
    /// The same, because the source did not respond in time. On a machine without free cores, the observer itself may have been late.
    TimedOut,
    /// The source reads again. The gap began at `since`.
    Recovered { since: Nanos },
    /// Some readings were dropped: too many series, or the channel was full.
    Incomplete,
    /// A remark about the readings. Nothing is missing because of it.
    Remark,
}
