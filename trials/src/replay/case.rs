//! A published case, independent of the data set that it is from: what was recorded, and the answer, which no conversion passes on.

use std::collections::BTreeSet;

/// The kind of resource that the data set states for a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    Cpu,
    Network,
    /// A wrong result or an exception in the service's own code.
    Code,
    /// The data set names the service alone.
    Unstated,
}

/// The published answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaseAnswer {
    pub(super) service: String,
    /// As the data set words it: `cpu_contention`.
    pub(super) fault: String,
    pub(super) kind: FaultKind,
}

/// What a signal measures, for its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    /// Cores in use by a pod, which is one process.
    Cores,
    /// Cores that it may use.
    CoresMax,
    /// Bytes.
    Memory,
    /// Calls per second of a service that others call.
    Calls,
    /// Those that it answered normally, per second.
    Answered,
    /// Mean time of a call. Seconds.
    CallTime,
    /// Anything else: a name without a role.
    Other,
}

/// Readings of one signal of one service.
#[derive(Debug, Clone)]
pub(super) struct ServiceSignal {
    pub(super) service: String,
    pub(super) metric: String,
    pub(super) unit: &'static str,
    pub(super) measured: Measured,
    /// Seconds since the run began, and values.
    pub(super) readings: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanRole {
    Server,
    Client,
    Internal,
}

/// One span, or a request of the front end where there are no traces.
#[derive(Debug, Clone)]
pub(super) struct CaseSpan {
    pub(super) trace: u128,
    pub(super) id: u64,
    /// 0: none.
    pub(super) parent: u64,
    pub(super) service: String,
    pub(super) name: String,
    pub(super) role: SpanRole,
    /// Nanoseconds since the run began.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) failed: bool,
}

/// One case, or a stretch without a fault.
#[derive(Debug, Clone)]
pub(super) struct ReplayCase {
    /// Without the answer: the run is named by it.
    pub(super) name: String,
    pub(super) system: &'static str,
    /// `None`: there was no fault.
    pub(super) answer: Option<CaseAnswer>,
    /// All services that the record covers: from these a method may choose.
    pub(super) services: BTreeSet<String>,
    /// The time of day at second 0. Nanoseconds since 1970.
    pub(super) zero_wall_ns: u64,
    pub(super) spans: Vec<CaseSpan>,
    /// Whether the spans are complete traces. If not, they are the requests alone, and say nothing about the services behind the front end.
    pub(super) has_traces: bool,
    pub(super) signals: Vec<ServiceSignal>,
    /// When the fault began, and readings around it: for the floors alone, never for the analysis.
    pub(super) known_onset: Option<KnownOnset>,
    /// Whether the record has requests before the fault and after it.
    pub(super) covers_fault: bool,
    /// What of the published record is not in the folder. Empty: nothing.
    pub(super) missing: String,
}

/// What the floors know and the analysis does not.
#[derive(Debug, Clone)]
pub(super) struct KnownOnset {
    /// Seconds since the run began.
    pub(super) at: f64,
    /// May reach beyond the run.
    pub(super) signals: Vec<ServiceSignal>,
}

impl ReplayCase {
    /// Whether the record has requests of the front end, without which there is nothing to explain.
    pub(super) fn has_requests(&self) -> bool {
        !self.spans.is_empty()
    }
}
