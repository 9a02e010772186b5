//! Messages of OTLP traces (opentelemetry-proto 1.x: trace_service.proto, trace.proto), as far as they are read.
//!
//! Attributes of spans are skipped without a copy, so that no secret in them is stored.

use loadstone_metrics::span::SpanKind;
use loadstone_wire_formats::decoded::{self, CountedField};
use loadstone_wire_formats::otlp::{RESOURCE_FIELDS, Resource};
use prost::Message;
use prost::bytes::Bytes;

/// Memory that one message may take. The largest message that gRPC accepts by default, 4 MiB of spans, takes about 10 MiB. Bytes.
const DECODED_BYTES_MAX: usize = 64 << 20;

const FIELDS: &[CountedField] = &[CountedField::message::<ResourceSpans>(
    1,
    &[
        CountedField::message::<Resource>(1, RESOURCE_FIELDS),
        CountedField::message::<ScopeSpans>(2, &[CountedField::message::<ReadSpan>(2, &[])]),
    ],
)];

/// Decodes a message, unless it is malformed or would take too much memory.
pub(super) fn decode(message: &Bytes) -> Option<ExportTraces> {
    decoded::check(message, FIELDS, DECODED_BYTES_MAX).ok()?;
    ExportTraces::decode(message.clone()).ok()
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExportTraces {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<ReadSpan>,
}

/// Strings are declared as bytes, which have the same wire format, so that they are views of the message.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReadSpan {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) trace_id: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) span_id: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) parent_span_id: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) name: Bytes,
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end: u64,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<SpanStatus>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct SpanStatus {
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

/// STATUS_CODE_ERROR.
const ERROR: i32 = 2;

impl ReadSpan {
    pub(super) fn kind(&self) -> SpanKind {
        match self.kind {
            2 => SpanKind::Server,
            3 => SpanKind::Client,
            4 => SpanKind::Producer,
            5 => SpanKind::Consumer,
            _ => SpanKind::Internal,
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.status.is_some_and(|status| status.code == ERROR)
    }
}

/// The name of the service.
pub(super) fn service_name(resource: &ResourceSpans) -> String {
    let attributes = resource.resource.iter().flat_map(|resource| &resource.attributes);
    let name = attributes.filter(|attribute| &attribute.key[..] == b"service.name").find_map(|attribute| attribute.value.as_ref());
    name.map_or_else(|| "unknown".to_owned(), |name| String::from_utf8_lossy(name.text.as_deref().unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_empty_spans_is_refused() {
        let scope = [0x12, 0x00].repeat(2 << 20);
        let length = |content: &[u8]| {
            let mut encoded = Vec::new();
            prost::encoding::encode_varint(content.len() as u64, &mut encoded);
            [encoded, content.to_vec()].concat()
        };
        let scopes = [vec![0x12], length(&scope)].concat();
        let message = Bytes::from([vec![0x0a], length(&scopes)].concat());
        assert!(decode(&message).is_none());
        let spans = vec![ReadSpan { name: Bytes::from_static(b"GET /"), ..ReadSpan::default() }; 10_000];
        let export = ExportTraces { resource_spans: vec![ResourceSpans { resource: None, scope_spans: vec![ScopeSpans { spans }] }] };
        assert_eq!(decode(&export.encode_to_vec().into()), Some(export));
    }
}
