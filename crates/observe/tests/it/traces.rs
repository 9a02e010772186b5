//! The receiver of spans, spoken to as exporters do: OTLP's published messages, over HTTP and gRPC.

use std::io::Write as _;
use std::net::SocketAddr;

use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use loadstone_metrics::NoticeKind;
use loadstone_metrics::clock::wall_ns;
use loadstone_metrics::span::{KeptFor, RequestLabel, SpanKind, TraceBatch};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use serde_json::json;
use tokio::net::TcpStream;

use crate::free_port::free_port;
use crate::watching::Watch;

const RUN: u32 = 0xabcd_0123;
const MS: u64 = 1_000_000;

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(Value::StringValue(value.to_owned())) }), ..KeyValue::default() }
}

/// A span of the trace of this number; `run` and label stand in front of it.
fn span(run: u32, number: u64, (id, parent): (u64, u64), (name, kind): (&str, i32), (start, end): (u64, u64)) -> Span {
    let label = RequestLabel::of("Shop", "List").0;
    let trace = [run.to_be_bytes().as_slice(), &label.to_be_bytes(), &number.to_be_bytes()].concat();
    Span {
        trace_id: trace,
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: parent.to_be_bytes().to_vec(),
        name: name.to_owned(),
        kind,
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        attributes: vec![text("db.query.text", "select 'hunter2'")],
        ..Span::default()
    }
}

fn sent(service: &str, spans: Vec<Span>) -> Vec<u8> {
    let resource = Resource { attributes: vec![text("host.name", "a"), text("service.name", service)], ..Resource::default() };
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// A trace of three spans, of which the last one failed: 10 ms, of which a call takes 6 from the third on, of which 5 are the other service's.
fn trace(number: u64) -> (Vec<u8>, Vec<u8>) {
    let start = wall_ns() - 20 * MS;
    let failed = Status { code: 2, ..Status::default() };
    let query = Span { status: Some(failed), ..span(RUN, number, (3, 2), ("query", 2), (start + 4 * MS, start + 9 * MS)) };
    let shop = vec![
        span(RUN, number, (1, 77), ("GET /list", 2), (start, start + 10 * MS)),
        span(RUN, number, (2, 1), ("GET", 3), (start + 3 * MS, start + 9 * MS)),
    ];
    (sent("shop", shop), sent("prices", vec![query]))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn post(port: u16, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response<Bytes> {
    exchange(port, false, path, headers, body).0
}

/// The response, and the status that a call of gRPC ends with.
fn call(port: u16, path: &str, encoding: &[(&str, &str)], message: &[u8]) -> (Response<Bytes>, String) {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = [&[u8::from(!encoding.is_empty())], length.as_slice(), message].concat();
    let headers = [&[("content-type", "application/grpc"), ("te", "trailers")], encoding].concat();
    exchange(port, true, path, &headers, body)
}

fn exchange(port: u16, http2: bool, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> (Response<Bytes>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = TokioIo::new(TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap());
        let uri = format!("http://127.0.0.1:{port}{path}");
        let mut request = Request::builder().method(Method::POST).uri(uri).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let response = if http2 {
            let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap();
        let status = body.trailers().and_then(|trailers| trailers.get("grpc-status")).map(|status| status.to_str().unwrap().to_owned());
        (Response::from_parts(parts, body.to_bytes()), status.unwrap_or_default())
    })
}

fn stop(watch: Watch) -> (TraceBatch, Vec<(NoticeKind, String)>) {
    let mut all = TraceBatch::default();
    let (batches, notices) = watch.stop();
    batches.into_iter().for_each(|batch| all.append(batch));
    (all, notices)
}

/// One after another: HTTP, HTTP with gzip, gRPC, gRPC with gzip.
#[test]
fn spans_are_taken_over_http_and_grpc_and_joined_by_trace() {
    let (port, other) = (free_port("127.0.0.1"), free_port("127.0.0.1"));
    let listen = |port| format!("127.0.0.1:{port}");
    let mut watch = Watch::of_run(
        RUN,
        &[
            json!({ "kind": "traces", "listen": listen(port), "forward": format!("http://127.0.0.1:{other}/"), "every": "50ms" }),
            json!({ "kind": "traces", "listen": listen(other), "name": "collector", "every": "50ms" }),
        ],
    );
    watch.until("both ports", |watch| watch.latest.contains_key("traces/spans") && watch.latest.contains_key("collector/spans"));
    let protobuf = ("content-type", "application/x-protobuf");
    for (number, (shop, prices)) in (1..=4).map(|number| (number, trace(number))) {
        let answers = match number {
            1 => [shop, prices].map(|body| post(port, "/v1/traces", &[protobuf], body).status().as_u16().to_string()),
            2 => [shop, prices]
                .map(|body| post(port, "/v1/traces", &[protobuf, ("content-encoding", "gzip")], gzip(&body)).status().as_u16().to_string()),
            3 => [shop, prices].map(|body| call(port, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", &[], &body).1),
            _ => [shop, prices].map(|body| {
                let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
                call(port, path, &[("grpc-encoding", "gzip")], &gzip(&body)).1
            }),
        };
        assert_eq!(answers, if number < 3 { ["200", "200"] } else { ["0", "0"] }, "{number}");
    }
    // Of another run, and a request of somebody else.
    let strangers = vec![span(RUN + 1, 1, (1, 0), ("a", 2), (1, 2)), span(7, 1, (1, 0), ("b", 2), (1, 2))];
    assert_eq!(post(port, "/v1/traces", &[protobuf], sent("shop", strangers)).status(), 200);
    assert_eq!(post(port, "/v1/metrics", &[protobuf], Vec::new()).status(), 200);
    assert_eq!(post(port, "/v1/traces", &[("content-type", "application/json")], b"{}".to_vec()).status(), 415);
    assert_eq!(post(port, "/v1/traces", &[protobuf], vec![0xff; 9]).status(), 400);
    assert_eq!(post(port, "/", &[protobuf], Vec::new()).status(), 404);
    assert_eq!(call(port, "/other.Service/Export", &[], &[]).1, "12");
    watch.until("all spans, also where they are passed on to", |watch| {
        watch.latest["traces/spans"] == 14.0 && watch.latest["collector/spans"] == 14.0 && watch.latest["traces/refused"] == 4.0
    });
    assert_eq!(watch.value("traces/foreign"), 2.0);
    let (batch, notices) = stop(watch);
    // The observer that receives the forwarded spans reports the same; its paths follow.
    let names: Vec<(&str, &str, SpanKind, Option<u32>)> =
        batch.paths[..4].iter().map(|path| (&*path.service, &*path.name, path.kind, path.parent)).collect();
    assert_eq!(
        names,
        [
            ("", "", SpanKind::Request, None),
            ("shop", "GET /list", SpanKind::Server, Some(0)),
            ("shop", "GET", SpanKind::Client, Some(1)),
            ("prices", "query", SpanKind::Server, Some(2)),
        ]
    );
    assert_eq!(batch.paths[0].label, RequestLabel::of("Shop", "List"));
    let sum = |path: u32, of: fn(&loadstone_metrics::span::SpanSlice) -> u64| {
        let spans = batch.slices.iter().flat_map(|slice| &slice.spans).filter(|span| span.path == path);
        spans.map(of).sum::<u64>()
    };
    // Both observers reported four traces.
    for (path, ms) in [(0, 0), (1, 4), (2, 1), (3, 5)] {
        assert_eq!((sum(path, |span| span.calls), sum(path, |span| span.critical_ns)), (8, 8 * ms * MS), "{path}");
    }
    assert_eq!((sum(2, |span| span.lead_ns), sum(3, |span| span.errors)), (8 * 3 * MS, 8));
    let failed = batch.kept.iter().find(|trace| trace.kept_for == KeptFor::Failed).unwrap();
    let spans: Vec<(&str, u64, u64, Option<u16>)> =
        failed.spans.iter().map(|span| (&*span.name, span.start_ns, span.own_ns, span.parent)).collect();
    assert_eq!(spans, [("GET /list", 0, 4 * MS, None), ("GET", 3 * MS, MS, Some(0)), ("query", 4 * MS, 5 * MS, Some(1))]);
    assert!(
        notices.iter().any(|(_, text)| text.contains("JSON") || text.contains("nothing at") || text.contains("too long")),
        "{notices:?}"
    );
    assert!(!format!("{batch:?}").contains("hunter2"));
}

#[test]
fn the_reason_for_missing_traces_is_reported() {
    let port = free_port("127.0.0.1");
    let watch = Watch::of_run(RUN, &[json!({ "kind": "traces", "listen": format!("127.0.0.1:{port}") })]);
    let (_, notices) = stop(watch);
    assert!(notices.iter().any(|(_, text)| text.contains(&format!("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{port}"))), "{notices:?}");
    let mut watch = Watch::of_run(RUN, &[json!({ "kind": "traces", "listen": format!("127.0.0.1:{port}"), "every": "20ms" })]);
    watch.until("an open port", |watch| watch.latest.contains_key("traces/spans"));
    let stranger = sent("shop", vec![span(7, 1, (1, 0), ("a", 2), (1, 2))]);
    assert_eq!(post(port, "/v1/traces", &[], stranger).status(), 200);
    let (_, notices) = stop(watch);
    assert!(notices.iter().any(|(_, text)| text.contains("none of them of the load's requests")), "{notices:?}");
}
