//! The interface between a kind of observer and the thread that runs all observers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::collector::SignalCollector;
use crate::error::ReadError;

/// One reading of a source, in progress.
pub(crate) type PendingRead<'a> = Pin<Box<dyn Future<Output = Result<(), ReadError>> + 'a>>;

/// Whether the run may connect to a host and a port.
pub type HostPermission = Arc<dyn Fn(&str, u16) -> bool + Send + Sync>;

/// Reads signals from one source. It is created on one thread and used on another.
pub(crate) trait SignalReader: Send {
    /// Prefix of its signals' names, if it differs from the description's name or the kind.
    fn default_name(&self, _given: Option<&str>) -> Option<String> {
        None
    }

    /// Its interval between readings; a batch is due every `every_ns`. Nanoseconds.
    fn period_ns(&self, every_ns: u64) -> u64 {
        every_ns
    }

    /// Whether the readings must be evenly spaced, because each covers a time window that must adjoin the previous one.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Reads once. Readers that read more often than they report leave `out` empty in between.
    ///
    /// # Errors
    /// Why nothing could be read; the next call tries again.
    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a>;

    /// Takes a last reading after the run has ended, for sources that report late. It may wait for a few seconds.
    ///
    /// # Errors
    /// Why there is nothing to read.
    fn finish<'a>(&'a mut self, _out: &'a mut SignalCollector) -> PendingRead<'a> {
        at_once(Ok::<(), ReadError>(()))
    }

    /// Identifies the run's traces: their ids begin with these 32 bits.
    fn joins_traces(&mut self, _run: u32) {}

    /// Permits connections to hosts that the observed system names and the description does not.
    fn permits_hosts(&mut self, _hosts: &HostPermission) {}

    /// Forgets connections after a failure or a time-out.
    fn reset(&mut self) {}
}

/// The reading of a reader that never waits.
pub(crate) fn at_once<'a>(read: Result<(), impl Into<ReadError>>) -> PendingRead<'a> {
    Box::pin(std::future::ready(read.map_err(Into::into)))
}
