//! What an output is: something that takes a run's seconds and delivers them.
//!
//! Read [`OutputSink`] first. A new kind of output implements it in a separate file or folder and describes itself as an [`OutputKind`];
//! `kinds` lists it. Threads, queues, retries and counts belong to `outlet`.

use std::net::SocketAddr;

use loadstone_http_client::HttpTargetError;
use url::Url;

use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::totals::OutputTotals;

/// What takes a run's seconds, in order.
pub(crate) trait OutputSink: Send {
    /// Adds a second to what is to be delivered.
    fn take(&mut self, second: &OutputSecond);
    /// Delivers what was taken since the last time that this or [`OutputSink::give_up`] was over. Returns how many seconds arrived as
    /// such: a kind that sends the state of the run so far delivers one point for all that it took.
    fn flush(&mut self) -> Result<u64, DeliveryError>;
    /// Forgets what could not be delivered, unless it is part of the state.
    fn give_up(&mut self);
}

/// Why a second was not delivered.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub(crate) struct DeliveryError {
    pub(crate) text: String,
    /// Another attempt may help.
    pub(crate) is_transient: bool,
}

/// A kind of output, as `--out` knows it.
pub(crate) struct OutputKind {
    /// As typed before the `=`.
    pub(crate) name: &'static str,
    /// For people, before "at" and the address.
    pub(crate) title: &'static str,
    pub(crate) start: StartOutput,
}

/// What a kind's address is, and how it is started.
pub(crate) enum StartOutput {
    /// An http or https URL.
    Url {
        /// In place of no path, where the kind's specification names one.
        default_path: Option<&'static str>,
        start: StartAtUrl,
    },
    /// `HOST:PORT`.
    Socket { start: StartAtSocket },
}

pub(crate) type StartAtUrl = fn(&Url, OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError>;
pub(crate) type StartAtSocket = fn(SocketAddr, OutputSetup<'_>) -> Result<Box<dyn OutputSink>, SinkError>;

/// What every output is given.
pub(crate) struct OutputSetup<'a> {
    /// Go with every HTTP request: what a receiver wants to know about who sends.
    pub(crate) headers: &'a [(String, String)],
    /// Of the run that begins: empty, but it knows the scenarios.
    pub(crate) totals: OutputTotals,
    pub(crate) run: RunLabels,
}

/// Why a sink cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("\"{0}\" is not a header name")]
    HeaderName(String),
    /// The value may be a secret: it is not shown.
    #[error("the value of the header {0} cannot be sent")]
    HeaderValue(String),
    #[error(transparent)]
    Target(#[from] HttpTargetError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
