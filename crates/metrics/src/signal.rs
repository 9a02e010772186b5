//! Signals: time series of the system under test, as observers read them.

use serde::{Deserialize, Serialize};

use crate::Nanos;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// A level: memory, queue length, active sessions.
    Gauge,
    /// An ever-growing total: CPU seconds, commits. Shown as its rate.
    Counter,
}

/// What a time series is. Its name is unique within a run: `observer/metric{label}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// One reading. A gap (the observer was silent) is simply the absence of points and is never filled in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SignalPoint {
    /// On the run's clock.
    pub at: Nanos,
    pub value: f64,
}
