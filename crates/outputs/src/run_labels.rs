//! What tells runs apart where many report to one place.

use metrics::Nanos;

/// A run as every output names it.
#[derive(Debug, Clone)]
pub struct RunLabels {
    pub test: String,
    /// Its id: the name of its directory.
    pub run: String,
    /// Wall-clock time of the run clock's zero. Nanoseconds since 1970.
    pub started_unix_ns: u64,
}

impl RunLabels {
    pub(crate) fn labels(&self) -> impl Iterator<Item = (String, String)> {
        [("run".to_owned(), self.run.clone()), ("test".to_owned(), self.test.clone())].into_iter()
    }

    pub(crate) fn unix_ns(&self, at: Nanos) -> u64 {
        self.started_unix_ns + at
    }

    pub(crate) fn unix_ms(&self, at: Nanos) -> i64 {
        (self.unix_ns(at) / 1_000_000) as i64
    }
}
