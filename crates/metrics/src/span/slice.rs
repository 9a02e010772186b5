//! Counts and times of spans.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::snapshot::is_zero;

/// What became known of the requests that began in one period of time. Several slices of the same period add up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceSlice {
    /// First second of the period, and its length in seconds.
    pub second: u32,
    pub seconds: u32,
    pub spans: Vec<SpanSlice>,
}

/// One path in one period of time. For a request's own path, `calls` counts its traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanSlice {
    /// Number of its path.
    pub path: u32,
    pub calls: u64,
    /// Requests with at least one such span.
    pub traces: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// From start to end of each span. Nanoseconds, like all following fields.
    pub total: Histogram,
    /// The part of that time in which no child was running: self time.
    pub own: Histogram,
    /// Self time on the critical path of its requests, summed. Over all paths below a request, it adds up to the request's `total`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub critical_ns: u64,
    /// The critical time of its parent directly before it began, summed. It is part of the parent's `critical_ns`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_ns: u64,
}

impl TraceSlice {
    /// Adds another slice of the same period, or a later one when folding.
    pub fn merge(&mut self, other: &TraceSlice) {
        for theirs in &other.spans {
            match self.spans.iter_mut().find(|mine| mine.path == theirs.path) {
                Some(mine) => mine.merge(theirs),
                None => self.spans.push(theirs.clone()),
            }
        }
    }
}

impl SpanSlice {
    pub fn merge(&mut self, other: &SpanSlice) {
        self.calls += other.calls;
        self.traces += other.traces;
        self.errors += other.errors;
        self.total.merge(&other.total);
        self.own.merge(&other.own);
        self.critical_ns += other.critical_ns;
        self.lead_ns += other.lead_ns;
    }

    /// Packs the histograms for storage.
    pub fn pack(&mut self) {
        self.total = self.total.to_packed();
        self.own = self.own.to_packed();
    }
}
