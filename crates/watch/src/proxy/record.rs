//! What a proxy recorded, on its way to the reader of the record.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use loadstone_metrics::{Nanos, Outcome, Phases};
use tokio::sync::mpsc;

/// Records that wait for their reader, which takes them several times a second. Beyond that, the proxy waits.
pub(crate) const WAITING_MAX: usize = 65_536;

/// The reader's end.
pub(crate) struct ProxyRecords {
    pub(crate) records: mpsc::Receiver<ProxyRecord>,
    /// Connections of clients that are open.
    pub(crate) open: Arc<AtomicU64>,
}

/// A request, or something that is none.
#[derive(Debug)]
pub(crate) enum ProxyRecord {
    Request(Box<ProxiedRequest>),
    /// Bytes that were passed on without a record, and why.
    NotRecorded(String),
}

/// A request through the proxy. All instants are on the run's clock.
#[derive(Debug, PartialEq)]
pub(crate) struct ProxiedRequest {
    /// `GET /orders/{id}`.
    pub(crate) name: String,
    /// When its first byte arrived at this machine.
    pub(crate) sent_at: Nanos,
    /// When the last byte of the response was sent on, or when either side gave up.
    pub(crate) ended_at: Nanos,
    pub(crate) phases: Phases,
    pub(crate) outcome: Outcome,
    /// HTTP status, or 0.
    pub(crate) status: u16,
    /// Why it failed. Empty: the status says it.
    pub(crate) message: String,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Time that the proxy added. `None`: a message did not reach its end.
    pub(crate) delay: Option<ProxyDelay>,
    /// The client ended the connection before the response was complete.
    pub(crate) is_aborted: bool,
}

/// Between the arrival of a message's last byte and sending it on. Nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProxyDelay {
    pub(crate) of_request: u64,
    pub(crate) of_response: u64,
}
