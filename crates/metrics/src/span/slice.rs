//! What is counted and timed of spans.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::snapshot::is_zero;

/// What became known of the requests that began in one stretch of time. Several slices of the same stretch add up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceSlice {
    /// First second of the stretch, and how many it has.
    pub second: u32,
    pub seconds: u32,
    pub spans: Vec<SpanSlice>,
}

/// One path in one stretch of time. Of a request's own path, `calls` are its traces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanSlice {
    /// Number of its path.
    pub path: u32,
    pub calls: u64,
    /// Requests that had at least one.
    pub traces: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u64,
    /// From its start to its end, of each. Nanoseconds, as all that follow.
    pub total: Histogram,
    /// Of that, without a child under way: self time.
    pub own: Histogram,
    /// Self time on the critical path of its requests, all together. Over all paths below a request it adds up to the request's `total`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub critical_ns: u64,
    /// The critical time of its parent right before it began, all together: part of the parent's `critical_ns`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_ns: u64,
}

impl TraceSlice {
    /// Adds another slice of the same stretch, or a later one when folding.
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

    /// As small as it goes: for what is kept.
    pub fn pack(&mut self) {
        self.total = self.total.to_packed();
        self.own = self.own.to_packed();
    }
}
