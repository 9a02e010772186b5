//! What receiving spans costs: `cargo run --release -p loadstone-observe --example spans -- 20000 20` sends that many a second for so many seconds,
//! in traces of ten with eight attributes each, and prints the receiver's CPU time and the memory of this process.

#![expect(clippy::print_stdout, reason = "a measurement prints what it measured")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use loadstone_metrics::clock::{Monotonic, wall_ns};
use loadstone_observe::{Observation, Observer};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const RUN: u32 = 7;
const OF_TRACE: u64 = 10;
/// As the batch processor of OpenTelemetry's SDKs sends them.
const OF_BATCH: u64 = 510;

fn span(trace: u64, number: u64, now: u64) -> Span {
    let low = trace.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let attribute = |key: u64| KeyValue {
        key: format!("http.attribute.{key}"),
        value: Some(AnyValue { value: Some(Value::StringValue(format!("a value of usual length {trace}"))) }),
        ..KeyValue::default()
    };
    Span {
        trace_id: [&RUN.to_be_bytes()[..], &(trace as u32 % 20).to_be_bytes(), &low.to_be_bytes()].concat(),
        span_id: (number + 1).to_be_bytes().to_vec(),
        parent_span_id: if number == 0 { 77 } else { (number - 1) / 3 + 1 }.to_be_bytes().to_vec(),
        name: format!("operation {number}"),
        kind: if number.is_multiple_of(2) { 2 } else { 3 },
        start_time_unix_nano: now - 20_000_000 + number * 1_000_000,
        end_time_unix_nano: now - number * 100_000,
        attributes: (0..8).map(attribute).collect(),
        ..Span::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (rate, seconds) = (numbers.next().unwrap_or(Ok(20_000))?, numbers.next().unwrap_or(Ok(20))?);
    let clock = Monotonic::start();
    let mut observer = Observer::from_description(&serde_json::json!({ "kind": "traces", "listen": "127.0.0.1:4399" }))?;
    observer.joins_traces(RUN);
    let observation = Observation::start(vec![observer], clock)?;
    // Its first reading says that the port is open.
    while observation.next(Duration::from_secs(5)).is_some_and(|batch| &*batch.observer != "traces") {}
    let mut stream = TcpStream::connect("127.0.0.1:4399")?;
    let (mut sent, begin) = (0, clock.now());
    while sent < rate * seconds {
        let now = wall_ns();
        let spans = (sent..sent + OF_BATCH).map(|number| span(number / OF_TRACE, number % OF_TRACE, now)).collect();
        let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
        let body =
            ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }] }.encode_to_vec();
        write!(
            stream,
            "POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(&body)?;
        let mut answer = [0; 1024];
        let _ = stream.read(&mut answer)?;
        sent += OF_BATCH;
        let due = begin + sent * 1_000_000_000 / rate;
        std::thread::sleep(Duration::from_nanos(due.saturating_sub(clock.now())));
    }
    let took = (clock.now() - begin) as f64 / 1e9;
    // Traces are put together once nothing more has come for them.
    std::thread::sleep(Duration::from_secs(9));
    let batches: Vec<_> = observation.take().collect();
    let points = batches.iter().flat_map(|batch| &batch.points);
    let read: std::collections::BTreeMap<&str, f64> = points.map(|(signal, point)| (signal.name.as_str(), point.value)).collect();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let memory = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{sent} spans in {took:.1} s: {:.0}/s; {read:?}; {memory}", sent as f64 / took);
    println!("CPU of the receiver: {:.1} % of a core", 100.0 * read.get("traces/cpu").copied().unwrap_or(0.0) / took);
    Ok(())
}
