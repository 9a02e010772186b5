//! Arrivals at the instants of a record, such as an access log.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The requests of a record as arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayStage {
    /// File of the record, as the test names it.
    pub file: String,
    /// `combined`, `common`, `har`, `gor`, or the format string of the log. `None`: by the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// How many times as fast as recorded.
    pub speed: f64,
    /// The part of the record to send, as the test wrote it: from the first instant, before the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What follows is known once the record was read. Number of arrivals.
    #[serde(default)]
    pub count: u64,
    /// Time between the first and the last arrival, at the speed of the replay. Nanoseconds.
    #[serde(default)]
    pub duration_ns: u64,
    /// Most arrivals in a second.
    #[serde(default)]
    pub peak: u64,
    /// Recorded requests that are left out, because they change data and the command line does not allow that.
    #[serde(default)]
    pub writes_left_out: u64,
    /// Lines that are no request.
    #[serde(default)]
    pub unreadable: u64,
    #[serde(skip)]
    pub instants: ReplayInstants,
}

/// Instants of recorded requests, in order.
pub trait RecordedInstants: Send + Sync {
    /// Time since the first request, at the speed of the replay. Nanoseconds. `None`: there is no request with this index.
    fn offset_ns(&self, index: u64) -> Option<u64>;
}

/// The instants of a stage. Known only in the process that read the record.
#[derive(Clone, Default)]
pub struct ReplayInstants(pub Option<Arc<dyn RecordedInstants>>);

impl ReplayInstants {
    /// As [`RecordedInstants::offset_ns`].
    pub fn offset_ns(&self, index: u64) -> Option<u64> {
        self.0.as_ref()?.offset_ns(index)
    }
}

impl fmt::Debug for ReplayInstants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplayInstants")
    }
}

/// They follow from the other fields and the file.
impl PartialEq for ReplayInstants {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
