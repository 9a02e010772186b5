//! The interface of an output, which takes a run's seconds and delivers them.
//!
//! Read [`OutputSink`] first. A new kind of output implements it in a separate file or folder and describes itself as an [`OutputKind`];
//! `kinds` lists it. Threads, queues, retries and counts belong to `outlet`.

use std::net::SocketAddr;

use loadstone_http_client::HttpTargetError;
use url::Url;

use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::totals::OutputTotals;

/// Takes a run's seconds, in order.
pub(crate) trait OutputSink: Send {
    /// Adds a second to the next delivery.
    fn take(&mut self, second: &OutputSecond);
    /// Delivers the seconds since the last call of this or of [`OutputSink::give_up`]. Returns how many seconds arrived as separate
    /// points: a kind that sends cumulative state delivers one point for all of them.
    fn flush(&mut self) -> Result<u64, DeliveryError>;
    /// Discards undelivered seconds, unless they are part of the cumulative state.
    fn give_up(&mut self);
}

/// Why a second was not delivered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub(crate) struct DeliveryError {
    pub(crate) text: String,
    /// Whether another attempt may succeed.
    pub(crate) is_transient: bool,
}

/// A kind of output, as `--out` knows it.
pub(crate) struct OutputKind {
    /// The word before the `=`.
    pub(crate) name: &'static str,
    /// For people, before "at" and the address.
    pub(crate) title: &'static str,
    pub(crate) start: StartOutput,
}

/// The form of a kind's address, and its constructor.
pub(crate) enum StartOutput {
    /// An http or https URL.
    Url {
        /// The default path, if the kind's specification defines one.
        default_path: Option<&'static str>,
        start: StartAtUrl,
    },
    /// `HOST:PORT`.
    Socket { start: StartAtSocket },
}

pub(crate) type StartAtUrl = fn(&Url, OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError>;
pub(crate) type StartAtSocket = fn(SocketAddr, OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError>;

/// The input of every output.
pub(crate) struct OutputSetup<'a> {
    /// Headers of every HTTP request, for example for authentication.
    pub(crate) headers: &'a [(String, String)],
    /// The totals of the run: empty except for the scenarios.
    pub(crate) totals: OutputTotals,
    pub(crate) run: RunLabels,
}

/// Why a sink cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("\"{0}\" is not a header name")]
    HeaderName(String),
    /// The value may be a secret, so it is not shown.
    #[error("the value of the header {0} cannot be sent")]
    HeaderValue(String),
    #[error(transparent)]
    Target(#[from] HttpTargetError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
