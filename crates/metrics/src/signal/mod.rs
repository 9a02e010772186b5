//! Signals: time series of the system under test, as observers and stubs read them.

mod role;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{FlowEvent, Nanos};

pub use role::Role;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A level: memory, queue length, active sessions.
    #[default]
    Gauge,
    /// An ever-growing total: CPU seconds, commits. Shown as its rate.
    Counter,
}

/// What a time series is. Its name is unique within a run: `observer/metric{label}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// `process:8080/cpu`, `postgres/sessions{wait=Lock:tuple}`.
    pub name: String,
    /// Which observer reads it; signals of one observer are drawn as one band.
    pub observer: String,
    pub kind: SignalKind,
    /// `seconds`, `bytes`, `1`, `sessions`, `per second`.
    pub unit: String,
    /// One line for people.
    pub help: String,
    /// What it means, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Which part of what the observer watches it tells of: the pool, the device, the queue. Empty: the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The labels in its name, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(String, String)>,
}

impl Signal {
    /// The unit of what is shown: a counter is shown as its rate. Seconds per second are a share of one core, of one lock, of one disk.
    pub fn unit_shown(&self) -> &str {
        match (self.kind, self.unit.as_str()) {
            (SignalKind::Gauge, "seconds") => "s",
            (SignalKind::Gauge, "per second") => "/s",
            (SignalKind::Gauge, unit) => unit,
            (SignalKind::Counter, "seconds") => "share",
            (SignalKind::Counter, "bytes") => "bytes/s",
            (SignalKind::Counter, _) => "/s",
        }
    }
}

/// One reading. A gap (the observer was silent) is simply the absence of points and is never filled in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignalPoint {
    /// On the run's clock.
    pub at: Nanos,
    pub value: f64,
}

impl SignalPoint {
    /// Growth per second of a counter since an earlier reading; `None` when it went back (its process started anew) or time stood still.
    pub fn growth_since(&self, before: &SignalPoint) -> Option<f64> {
        let elapsed_ns = self.at.checked_sub(before.at).filter(|elapsed| *elapsed > 0)?;
        (self.value >= before.value).then(|| (self.value - before.value) / (elapsed_ns as f64 / 1e9))
    }
}

/// What one source read since its last batch, and what befell it.
#[derive(Debug, Clone)]
pub struct SignalBatch {
    /// The observer that its signals belong to.
    pub observer: Arc<str>,
    pub points: Vec<(Arc<Signal>, SignalPoint)>,
    pub notices: Vec<SignalNotice>,
    /// What it has learnt of journeys.
    pub flow_events: Vec<FlowEvent>,
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
}
