//! Which `traceparent` a request carries: its own, one with new ids, or none.

use super::message::Request;
use super::trace::{NAME, TraceParent, Traces};

/// The source of a request's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TraceChoice {
    /// Traces are off.
    Nothing,
    /// The request has a header, with any content.
    Own(Option<TraceParent>),
    Added(TraceParent),
}

impl TraceChoice {
    /// The header of the request if it has one, otherwise new ids. `traces`: `None` if traces are off.
    pub(super) fn by(request: &Request, traces: Option<&Traces>) -> Self {
        let Some(traces) = traces else { return Self::Nothing };
        match request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(NAME)) {
            Some((_, value)) => Self::Own(value.parse().ok()),
            None => Self::Added(traces.next(request.label)),
        }
    }

    pub(super) fn parent(self) -> Option<TraceParent> {
        match self {
            Self::Nothing => None,
            Self::Own(parent) => parent,
            Self::Added(parent) => Some(parent),
        }
    }

    /// The trace to insert into the request.
    pub(super) fn added(self) -> Option<TraceParent> {
        match self {
            Self::Added(parent) => Some(parent),
            Self::Nothing | Self::Own(_) => None,
        }
    }
}
