//! One request's complete trace.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::label::RequestLabel;
use super::path::SpanKind;
use crate::clock::Nanos;
use crate::trace::TraceId;

/// Why a trace was kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum KeptFor {
    /// It was among the slowest of its period.
    #[default]
    Slow,
    /// One of its spans failed.
    Failed,
    /// Random selection, with the same probability for each.
    Sample,
}

/// All spans of one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KeptTrace {
    pub trace: TraceId,
    pub kept_for: KeptFor,
    /// The request's scenario.
    pub scenario: Arc<str>,
    pub name: Arc<str>,
    /// When its first span began, on the run's clock (assuming that the machines' clocks agree).
    pub at: Nanos,
    /// From there to the end of its last entry span. Nanoseconds.
    pub total_ns: u64,
    /// In the order in which they began. At most [`KeptTrace::SPANS_MAX`].
    pub spans: Vec<KeptSpan>,
    /// Number of omitted spans.
    #[serde(default, skip_serializing_if = "crate::snapshot::is_zero")]
    pub left_out: u64,
    /// Identifies the request until its names are known.
    #[serde(skip)]
    pub label: RequestLabel,
}

/// One of its spans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KeptSpan {
    /// The index of its parent span. `None` for an entry span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u16>,
    pub service: Arc<str>,
    pub name: Arc<str>,
    pub kind: SpanKind,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Relative to the trace's `at`. Nanoseconds.
    pub start_ns: u64,
    pub duration_ns: u64,
    pub own_ns: u64,
}

impl KeptTrace {
    pub const SPANS_MAX: usize = 300;
}
