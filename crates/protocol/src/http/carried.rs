//! Which `traceparent` a request goes out with: its own, one with new ids, or none.

use super::message::Request;
use super::trace::{NAME, TraceParent, Traces};

/// How a request comes by its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// Traces are off.
    Nothing,
    /// It has a header, whatever that says.
    Own(Option<TraceParent>),
    Added(TraceParent),
}

impl Carried {
    /// The header of the request where it has one, else new ids. `traces`: none where they are off.
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

    /// What is to be put into the request.
    pub(super) fn added(self) -> Option<TraceParent> {
        match self {
            Self::Added(parent) => Some(parent),
            Self::Nothing | Self::Own(_) => None,
        }
    }
}
