//! Spans of real services as the record of a run: Node's automatic instrumentation sends them over HTTP and gRPC while a tool sends requests.

use serde_json::Value;

use crate::harness::{Ended, Folder, server};

/// Sends requests at a rate for some seconds, while the spans are received.
fn watch(traced: &server::Traced, path: &str, rate: &str, length: &str) -> Ended {
    let url = format!("{}{path}", traced.address);
    let tool = [env!("CARGO_BIN_EXE_loadstone"), "run", &url, "--rate", rate, "--for", length, "--runs", "own", "--quiet"];
    Folder::new().run(&[&["watch", "--record", "otlp", "--listen", &traced.spans_to, "--"], &tool[..]].concat())
}

fn requests(summary: &Value) -> Vec<(String, u64)> {
    let rows = summary["requests"].as_array().expect("requests");
    rows.iter().map(|row| (row["name"].as_str().unwrap_or_default().to_owned(), row["count"].as_u64().unwrap_or(0))).collect()
}

fn check(summary: &Value, id: &str) -> Value {
    let checks = summary["verdict"]["validity"]["checks"].as_array().expect("the checks");
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
}

/// A list asks the prices twelve times. Only the list is a request of the system.
#[test]
fn server_spans_of_a_real_service_are_the_requests() {
    let ended = watch(&server::traced_with(&[]), "/list?page=1", "20", "3s").says("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:");
    let summary = ended.summary();
    assert_eq!(requests(&summary), [("GET /list".to_owned(), 60)], "{}", ended.everything());
    assert_eq!(check(&summary, "sampled-record")["grade"], Value::Null, "{summary:#}");
    assert!(check(&summary, "record")["evidence"].as_str().is_some_and(|text| text.starts_with("60 entries were read")), "{summary:#}");
}

#[test]
fn a_failing_service_has_failed_requests() {
    let ended = watch(&server::traced_with(&[]), "/broken", "20", "2s");
    let summary = ended.summary();
    assert_eq!(requests(&summary), [("GET /broken".to_owned(), 40)], "{}", ended.everything());
    assert_eq!((&summary["errors"][0]["count"], &summary["errors"][0]["message"]), (&40.into(), &"status 500".into()), "{summary:#}");
}

#[test]
fn a_sampler_of_the_sdk_makes_the_run_suspect() {
    let traced = server::traced_with(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.5")]);
    let summary = watch(&traced, "/", "150", "4s").summary();
    let sampled = check(&summary, "sampled-record");
    assert_eq!(sampled["grade"], "suspect", "{sampled}");
    let share = sampled["evidence"].as_str().and_then(|text| text.split("about ").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    assert!(share.is_some_and(|share| (45.0..55.0).contains(&share)), "{sampled}");
}

#[test]
fn without_spans_the_run_says_what_to_set() {
    let folder = Folder::new();
    let ended = folder.run(&["watch", "--record", "otlp", "--listen", "127.0.0.1:0", "--for", "1s"]).code(4);
    ended.says("nothing was recorded").says("OTEL_TRACES_EXPORTER=otlp");
    folder.run(&["watch", "--record", "otlp", "--follow", "spans.json", "--for", "1s"]).code(2).says("spans are sent to Loadstone");
    folder
        .run(&["watch", "--record", "jtl", "--follow", "a.jtl", "--listen", "127.0.0.1:0", "--", "true"])
        .code(2)
        .says("only --record otlp");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    folder.run(&["watch", "--record", "otlp", "--listen", &address, "--for", "1s"]).code(2).says("give a free port with --listen");
}
