//! Requests from server spans, by the published messages of OTLP.

use loadstone_metrics::{Outcome, SeriesKind, Snapshot};
use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, read_all};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

use crate::recordings::{counts, of, unreadable};

const ZERO_NS: u64 = 1_795_889_000_000_000_000;
const MS: u64 = 1_000_000;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

/// A span of 20 ms that begins a second after the run.
fn span(trace: u8, id: u8, parent: u8, kind: i32, attributes: Vec<(&str, Value)>) -> Span {
    let attribute =
        |(key, value): (&str, Value)| KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() };
    Span {
        trace_id: vec![trace; 16],
        span_id: vec![id; 8],
        parent_span_id: if parent == 0 { Vec::new() } else { vec![parent; 8] },
        name: "GET".to_owned(),
        kind,
        start_time_unix_nano: ZERO_NS + 1_000 * MS,
        end_time_unix_nano: ZERO_NS + 1_020 * MS,
        attributes: attributes.into_iter().map(attribute).collect(),
        ..Span::default()
    }
}

fn text(value: &str) -> Value {
    Value::StringValue(value.to_owned())
}

fn read(spans: Vec<Span>) -> Vec<Snapshot> {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
    let message = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
    read_all("otlp", ReaderChoices::default(), LoadModel::Arrivals, ZERO_NS, &message).expect("the format exists")
}

fn http(path: &str, status: i64) -> Vec<(&'static str, Value)> {
    vec![("http.request.method", text("GET")), ("url.path", text(path)), ("http.response.status_code", Value::IntValue(status))]
}

/// The shop calls the prices. The calling span arrives before the called one in the first trace, and after it in the second.
#[test]
fn server_spans_of_calls_within_the_system_are_no_requests() {
    let shop = |trace| span(trace, 1, 0, SERVER, http("/orders/17", 200));
    let call = |trace| span(trace, 2, 1, CLIENT, http("/price", 200));
    let price = |trace| span(trace, 3, 2, SERVER, http("/price", 200));
    let slices = read(vec![shop(1), call(1), price(1), price(2), call(2), shop(2)]);
    assert_eq!(counts(&slices, SeriesKind::Request), of([("GET /orders/{id}", Outcome::Passed, 2)]));
    let ended: Vec<u64> = slices.iter().map(|slice| slice.leaves[0].ended).collect();
    assert_eq!((ended, unreadable(&slices)), (vec![0, 2], 0));
    let longest = slices.iter().flat_map(|slice| &slice.series).map(|series| series.service.max()).max();
    assert_eq!(longest, Some(20 * MS));
}

/// The caller exports elsewhere. A message is sent twice, because its acknowledgement was lost.
#[test]
fn spans_with_a_foreign_parent_are_requests_once() {
    let one = || span(1, 3, 2, SERVER, http("/price", 200));
    let slices = read(vec![one(), one(), span(1, 4, 2, SERVER, http("/price", 200))]);
    assert_eq!(counts(&slices, SeriesKind::Request), of([("GET /price", Outcome::Passed, 2)]));
}

#[test]
fn names_and_outcomes_follow_the_semantic_conventions() {
    let old = vec![("http.method", text("POST")), ("http.route", text("/cart/:id")), ("http.status_code", Value::IntValue(503))];
    let rpc = Span { name: "shop.Cart/Get".to_owned(), ..span(3, 1, 0, SERVER, vec![("rpc.system", text("grpc"))]) };
    let failed = Status { code: 2, message: "deadline of the database".to_owned() };
    let controller = Span { name: "CartController.list".to_owned(), ..span(5, 1, 0, SERVER, http("/carts", 200)) };
    let slices = read(vec![
        span(1, 1, 0, SERVER, old),
        span(2, 1, 0, SERVER, http("/missing/12", 404)),
        rpc.clone(),
        Span { status: Some(failed), trace_id: vec![4; 16], ..rpc },
        controller,
        span(6, 1, 0, 1, Vec::new()),
        Span { end_time_unix_nano: 1, ..span(7, 1, 0, SERVER, Vec::new()) },
    ]);
    let expected = [
        ("CartController.list", Outcome::Passed, 1),
        ("GET /missing/{id}", Outcome::Status, 1),
        ("POST /cart/:id", Outcome::Status, 1),
        ("shop.Cart/Get", Outcome::Passed, 1),
        ("shop.Cart/Get", Outcome::Status, 1),
    ];
    assert_eq!((counts(&slices, SeriesKind::Request), unreadable(&slices)), (of(expected), 1));
    let messages: Vec<&str> = slices.iter().flat_map(|slice| &slice.errors).map(|error| &*error.message).collect();
    assert!(messages.contains(&"deadline of the database") && messages.contains(&"status 503"), "{messages:?}");
}

#[test]
fn a_sample_shows_in_the_trace_state() {
    let shares = |state: &str| {
        // Trace ids are spread over all values, as random ones are.
        let root = |number: u8| Span { trace_state: state.to_owned(), ..span(number, 1, 0, SERVER, http("/", 200)) };
        let slices = read((1..=120).map(|number| root(2 * number)).collect());
        slices.iter().filter_map(|slice| slice.record.as_ref()?.sampled_share).collect::<Vec<f64>>()
    };
    assert_eq!(shares("ot=th:c"), [0.25]);
    assert_eq!(shares("ot=th:0"), Vec::<f64>::new());
}
