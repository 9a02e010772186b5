//! A span by where it stands.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::label::RequestLabel;

/// What part a span has in a call, as OpenTelemetry tells them apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Not a span: the request that all others stand below.
    Request,
    /// Something that the service does itself.
    #[default]
    Internal,
    /// The service answers a call.
    Server,
    /// The service makes a call: to another service, a database, a cache.
    Client,
    /// The service sends a message, and waits until a broker has it.
    Producer,
    Consumer,
}

impl SpanKind {
    /// Whether somebody else does what the span waits for.
    pub fn is_call(self) -> bool {
        matches!(self, SpanKind::Client | SpanKind::Producer)
    }
}

/// A span by its ancestors: the same name below another parent is another path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanPath {
    /// Number of the path that it stands below; `None` of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Of a request: its scenario. Empty of spans.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub scenario: Arc<str>,
    /// What the system calls itself there (`service.name`). Empty of requests.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub service: Arc<str>,
    /// The name of the span or of the request.
    pub name: Arc<str>,
    pub kind: SpanKind,
    /// Of a request, until its names are known.
    #[serde(skip)]
    pub label: RequestLabel,
}
