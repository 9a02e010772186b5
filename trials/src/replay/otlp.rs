//! Spans of a case as the messages that an exporter of OpenTelemetry would have sent.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message as _;

use super::case::{CaseSpan, SpanRole};

/// Spans of a message: no message may take more than 64 MiB of memory where it is read.
const MESSAGE_SPANS_MAX: usize = 20_000;
/// SPAN_KIND and STATUS_CODE of trace.proto.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

/// All spans, in as many messages as are needed.
pub(super) fn messages(spans: &[CaseSpan], zero_wall_ns: u64) -> Vec<Vec<u8>> {
    spans.chunks(MESSAGE_SPANS_MAX).map(|part| message(part.iter(), zero_wall_ns)).collect()
}

/// The requests alone, in one message and in the order in which they ended, as a record has them.
pub(super) fn requests(spans: &[CaseSpan], zero_wall_ns: u64) -> Vec<u8> {
    let mut roots: Vec<&CaseSpan> = spans.iter().filter(|span| span.parent == 0 && span.role == SpanRole::Server).collect();
    roots.sort_by_key(|span| span.end_ns);
    // One resource for each, so that the order remains.
    let resource_spans = roots.into_iter().map(|span| of_service(&span.service, vec![encoded(span, zero_wall_ns)])).collect();
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn message<'a>(spans: impl Iterator<Item = &'a CaseSpan>, zero_wall_ns: u64) -> Vec<u8> {
    let mut by_service: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for span in spans {
        by_service.entry(&span.service).or_default().push(encoded(span, zero_wall_ns));
    }
    let resource_spans = by_service.into_iter().map(|(service, spans)| of_service(service, spans)).collect();
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn of_service(service: &str, spans: Vec<Span>) -> ResourceSpans {
    let name = AnyValue { value: Some(Value::StringValue(service.to_owned())) };
    let resource = Resource {
        attributes: vec![KeyValue { key: "service.name".to_owned(), value: Some(name), ..KeyValue::default() }],
        ..Resource::default()
    };
    ResourceSpans { resource: Some(resource), scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }], ..ResourceSpans::default() }
}

fn encoded(span: &CaseSpan, zero_wall_ns: u64) -> Span {
    Span {
        trace_id: span.trace.to_be_bytes().to_vec(),
        span_id: span.id.to_be_bytes().to_vec(),
        parent_span_id: if span.parent == 0 { Vec::new() } else { span.parent.to_be_bytes().to_vec() },
        name: span.name.clone(),
        kind: match span.role {
            SpanRole::Internal => INTERNAL,
            SpanRole::Server => SERVER,
            SpanRole::Client => CLIENT,
        },
        start_time_unix_nano: zero_wall_ns + span.start_ns,
        end_time_unix_nano: zero_wall_ns + span.end_ns,
        status: span.failed.then(|| Status { code: ERROR, ..Status::default() }),
        ..Span::default()
    }
}
