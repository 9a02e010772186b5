//! A span by its position below the request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::label::RequestLabel;

/// The role of a span in a call, with the kinds that OpenTelemetry distinguishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Not a span: the request itself, the ancestor of all spans.
    Request,
    /// An internal operation of the service.
    #[default]
    Internal,
    /// The service handles a call.
    Server,
    /// The service calls another service, a database or a cache.
    Client,
    /// The service sends a message, and waits until a broker has accepted it.
    Producer,
    Consumer,
}

impl SpanKind {
    /// Whether another service does the work that the span waits for.
    pub fn is_call(self) -> bool {
        matches!(self, SpanKind::Client | SpanKind::Producer)
    }
}

/// A span by its ancestors: the same name below another parent is another path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanPath {
    /// Number of the parent path. `None` for a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// For a request: its scenario. Empty for spans.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub scenario: Arc<str>,
    /// The service's name for itself (`service.name`). Empty for requests.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub service: Arc<str>,
    /// The name of the span or of the request.
    pub name: Arc<str>,
    pub kind: SpanKind,
    /// For a request: its label until its names are known.
    #[serde(skip)]
    pub label: RequestLabel,
}
