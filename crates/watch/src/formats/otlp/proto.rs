//! Messages of OTLP traces (opentelemetry-proto 1.x: trace_service.proto, trace.proto, common.proto), with the fields that requests need.
//!
//! Strings are declared as bytes, which have the same wire format, so that they are views of the message.

use bytes::Bytes;
use loadstone_wire_formats::decoded::{self, CountedField};
use prost::Message;

/// Memory that one message may take. The largest message that gRPC accepts by default has 4 MiB. Bytes.
const DECODED_BYTES_MAX: usize = 128 << 20;

const FIELDS: &[CountedField] = &[CountedField::message::<RecordedResource>(
    1,
    &[CountedField::message::<RecordedScope>(
        2,
        &[CountedField::message::<RecordedSpan>(2, &[CountedField::message::<SpanAttribute>(9, &[])])],
    )],
)];

/// Decodes a message, unless it is malformed or would take too much memory.
pub(super) fn decode(message: &[u8]) -> Option<RecordedExport> {
    decoded::check(message, FIELDS, DECODED_BYTES_MAX).ok()?;
    RecordedExport::decode(Bytes::copy_from_slice(message)).ok()
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RecordedExport {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<RecordedResource>,
}

impl RecordedExport {
    pub(super) fn spans(&self) -> impl Iterator<Item = &RecordedSpan> {
        self.resource_spans.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans)
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct RecordedResource {
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<RecordedScope>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RecordedScope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<RecordedSpan>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RecordedSpan {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) trace_id: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    span_id: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    trace_state: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    parent_span_id: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    name: Bytes,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<SpanAttribute>,
    #[prost(message, optional, tag = "15")]
    status: Option<RecordedStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SpanAttribute {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(message, optional, tag = "2")]
    value: Option<AttributeValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AttributeValue {
    #[prost(bytes = "bytes", optional, tag = "1")]
    text: Option<Bytes>,
    #[prost(int64, optional, tag = "3")]
    number: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RecordedStatus {
    #[prost(bytes = "bytes", tag = "2")]
    message: Bytes,
    #[prost(int32, tag = "3")]
    code: i32,
}

/// SPAN_KIND_SERVER.
const SERVER: i32 = 2;
/// STATUS_CODE_ERROR.
const ERROR: i32 = 2;

impl RecordedSpan {
    pub(super) fn is_of_server(&self) -> bool {
        self.kind == SERVER
    }

    /// Identifies the span among all of its trace.
    pub(super) fn id(&self) -> &[u8] {
        &self.span_id
    }

    /// `None`: it is the root of its trace.
    pub(super) fn parent(&self) -> Option<&[u8]> {
        Some(&self.parent_span_id[..]).filter(|id| id.iter().any(|byte| *byte != 0))
    }

    pub(super) fn name(&self) -> &str {
        text(&self.name)
    }

    pub(super) fn trace_state(&self) -> &str {
        text(&self.trace_state)
    }

    /// Its error in the words of the service. `None`: it has no error.
    pub(super) fn error(&self) -> Option<&str> {
        self.status.as_ref().filter(|status| status.code == ERROR).map(|status| text(&status.message))
    }

    /// The first of these attributes that it has, as text: the present name, then older ones.
    pub(super) fn text_of(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.value(key)?.text.as_ref().map(text)).filter(|value| !value.is_empty())
    }

    pub(super) fn number_of(&self, keys: &[&str]) -> Option<i64> {
        keys.iter().find_map(|key| self.value(key)?.number)
    }

    fn value(&self, key: &str) -> Option<&AttributeValue> {
        self.attributes.iter().find(|attribute| attribute.key == key.as_bytes())?.value.as_ref()
    }
}

/// Proto3 strings are UTF-8.
fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
