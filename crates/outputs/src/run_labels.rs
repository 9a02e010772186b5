//! Labels that distinguish runs where several report to one receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loadstone_metrics::Nanos;

/// The labels of a run in every output. Clones share the time at which the run began.
#[derive(Debug, Clone)]
pub struct RunLabels {
    pub test: String,
    /// Its id: the name of its directory.
    pub run: String,
    /// Wall-clock time of the run clock's zero. Nanoseconds since 1970.
    zero_unix_ns: Arc<AtomicU64>,
}

impl RunLabels {
    /// `zero_unix_ns`: the wall-clock time of instant 0, until [`RunLabels::begin`] changes it.
    pub fn new(test: &str, run: &str, zero_unix_ns: u64) -> Self {
        Self { test: test.to_owned(), run: run.to_owned(), zero_unix_ns: Arc::new(AtomicU64::new(zero_unix_ns)) }
    }

    /// Sets the begin of the run.
    pub fn begin(&self, zero_unix_ns: u64) {
        self.zero_unix_ns.store(zero_unix_ns, Ordering::Release);
    }

    pub(crate) fn labels(&self) -> impl Iterator<Item = (String, String)> {
        [("run".to_owned(), self.run.clone()), ("test".to_owned(), self.test.clone())].into_iter()
    }

    pub(crate) fn unix_ns(&self, at: Nanos) -> u64 {
        self.zero_unix_ns.load(Ordering::Acquire) + at
    }

    pub(crate) fn unix_ms(&self, at: Nanos) -> i64 {
        (self.unix_ns(at) / 1_000_000) as i64
    }
}
