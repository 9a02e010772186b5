//! Prometheus itself: what is written is asked back.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use loadstone_outputs::Outputs;
use serde_json::Value;

use crate::fixtures::{self, REQUESTS};

/// A server for one test; killed at its end.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for what another process does.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("waited a minute for {what}");
}

impl Server {
    /// `scrape`: an address to fetch `/metrics` from every second.
    pub(crate) fn start(scrape: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("a free port").port();
        let jobs =
            scrape.map(|address| format!("[{{job_name: loadstone, scrape_interval: 1s, static_configs: [{{targets: ['{address}']}}]}}]"));
        std::fs::write(folder.path().join("prometheus.yml"), format!("scrape_configs: {}\n", jobs.as_deref().unwrap_or("[]")))
            .expect("a file");
        let address = format!("127.0.0.1:{port}");
        let flag = |name: &str, value: &Path| format!("--{name}={}", value.display());
        let child = Command::new("prometheus")
            .args([flag("config.file", &folder.path().join("prometheus.yml")), flag("storage.tsdb.path", &folder.path().join("data"))])
            .args([&format!("--web.listen-address={address}"), "--web.enable-remote-write-receiver", "--enable-feature=native-histograms"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("Prometheus starts; `cargo xtask setup` installs it");
        let server = Self { child, address, _folder: folder };
        wait_until("Prometheus to listen", || TcpStream::connect(&server.address).is_ok());
        wait_until("Prometheus to be ready", || server.get("/-/ready").is_some());
        server
    }

    fn get(&self, path: &str) -> Option<String> {
        use std::io::{Read, Write};
        let mut stream = TcpStream::connect(&self.address).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.lines().next()?.contains(" 200 ").then(|| body.to_owned())
    }

    /// The result of a query in PromQL: labels and value of each series.
    pub(crate) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.get(&format!("/api/v1/query?query={encoded}")).unwrap_or_else(|| panic!("Prometheus refuses {query}"));
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let result = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let value = |one: &Value| one["value"][1].as_str().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
        result.iter().map(|one| (one["metric"].clone(), value(one))).collect()
    }

    /// The value of a query that has one series.
    fn value(&self, query: &str) -> f64 {
        match &self.query(query)[..] {
            [(_, value)] => *value,
            other => panic!("{query}: {other:?}"),
        }
    }
}

/// The 99th of 100 equal steps of a millisecond.
const P99: f64 = 0.099;

#[test]
fn what_is_written_can_be_asked_for() {
    let server = Server::start(None);
    let url = format!("http://{}/api/v1/write", server.address);
    for (kind, id, width) in [("prometheus", "classic", 2f64.sqrt()), ("prometheus-native", "native", 2f64.powf(1.0 / 16.0))] {
        let delivery = fixtures::send(&format!("{kind}={url}"), id, 5);
        assert!(delivery.delivered >= 1 && delivery.delivered + delivery.lost == 5, "{delivery:?}");
        let failed = server.value(&format!(r#"loadstone_requests_total{{run="{id}",outcome="status"}}"#));
        assert_eq!(failed, 5.0, "{kind}");
        let passed = server.query(&format!(r#"loadstone_requests_total{{run="{id}",outcome="passed"}}"#));
        let (labels, count) = &passed[0];
        assert_eq!(
            (labels["name"].as_str(), labels["scenario"].as_str(), labels["test"].as_str()),
            (Some(fixtures::NAME), Some("Buy"), Some("Shop"))
        );
        assert_eq!((passed.len(), *count), (1, 5.0 * (REQUESTS - 1) as f64));
        let name = if kind == "prometheus" { "loadstone_response_time_seconds_bucket" } else { "loadstone_response_time_seconds" };
        let p99 = server.value(&format!(r#"histogram_quantile(0.99, {name}{{run="{id}"}})"#));
        assert!(p99 > P99 / width && p99 < P99 * width, "{kind}: p99 is {p99}");
        assert_eq!(server.value(&format!(r#"loadstone_users_active{{run="{id}"}}"#)), 7.0);
        assert_eq!(server.value(&format!(r#"loadstone_flows_total{{run="{id}",flow="Delivery",outcome="finished"}}"#)), 5.0 * 4.0);
        assert_eq!(server.value(&format!(r#"loadstone_flows_open{{run="{id}"}}"#)), 5.0);
        assert_eq!(server.value(&format!(r#"loadstone_metric_sum_total{{run="{id}",metric="Orders",tags=""}}"#)), 5.0 * 4.5);
        assert_eq!(server.value(&format!(r#"loadstone_metric_sum_total{{run="{id}",metric="Orders",tags="country=DE"}}"#)), 5.0 * 1.5);
        assert_eq!(server.value(&format!(r#"loadstone_metric{{run="{id}",metric="Order value",stat="min",unit="EUR"}}"#)), -2.5);
        assert_eq!(server.value(&format!(r#"loadstone_metric_recorded_total{{run="{id}",metric="Order value"}}"#)), 10.0);
        let sessions = server.query(&format!(r#"loadstone_signal{{run="{id}",observer="postgres",signal="sessions",unit="sessions"}}"#));
        assert_eq!((sessions[0].0["series"].as_str(), sessions[0].1), (Some("wait=Lock:tuple"), 3.0));
        assert_eq!(server.value(&format!(r#"loadstone_signal_counter_total{{run="{id}",signal="cpu"}}"#)), 4.0 * 0.5);
        assert_eq!(server.value(&format!(r#"loadstone_received_bytes_total{{run="{id}"}}"#)), 5.0 * 90.0 * REQUESTS as f64);
    }
    let count = r#"histogram_count(loadstone_response_time_seconds{run="native"})"#;
    assert_eq!(server.value(count), 5.0 * REQUESTS as f64);
    let sum = server.value(r#"loadstone_response_time_seconds_sum{run="classic"}"#);
    assert!((sum - 5.0 * 5.05).abs() < 1e-6, "the sum is exact: {sum}");
}

#[test]
fn only_names_of_this_machine_are_served_on_loopback() {
    let run = fixtures::run("named");
    let outputs = Outputs::start(&[], &[], Some("127.0.0.1:0".parse().unwrap()), &fixtures::plan(), &run).unwrap();
    let status = |host: &str| {
        let mut stream = TcpStream::connect(outputs.scrape_address().unwrap()).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\n{host}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    for fine in ["Host: localhost\r\n", "host: 127.0.0.1:9464\r\n", "Host: [::1]:9464\r\n"] {
        assert_eq!(status(fine), "200", "{fine}");
    }
    for foreign in ["Host: metrics.example.com\r\n", "Host: 127.0.0.1.example.com\r\n", ""] {
        assert_eq!(status(foreign), "403", "{foreign}");
    }
}

#[test]
fn what_is_served_can_be_scraped() {
    let run = fixtures::run("scraped");
    let mut outputs = Outputs::start(&[], &[], Some("127.0.0.1:0".parse().unwrap()), &fixtures::plan(), &run).unwrap();
    let server = Server::start(Some(&outputs.scrape_address().unwrap().to_string()));
    (0..3).for_each(|number| fixtures::push(&mut outputs, number));
    let requests = r#"sum(loadstone_requests_total{run="scraped"})"#;
    wait_until("all requests to be scraped", || server.query(requests).first().is_some_and(|(_, count)| *count == 3.0 * REQUESTS as f64));
    let bucket = r#"loadstone_response_time_seconds_bucket{run="scraped",le="+Inf"}"#;
    assert_eq!(server.value(bucket), 3.0 * REQUESTS as f64);
    assert!(outputs.finish().is_empty(), "a scrape endpoint delivers nothing by itself");
}

#[test]
fn an_unavailable_receiver_is_reported_and_delays_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).unwrap().port();
    let begun = SystemTime::now();
    let to = format!("prometheus=http://127.0.0.1:{port}/api/v1/write").parse().unwrap();
    let mut outputs = Outputs::start(&[to], &[], None, &fixtures::plan(), &fixtures::run("down")).unwrap();
    (0..200).for_each(|number| fixtures::push(&mut outputs, number));
    let pushing = begun.elapsed().unwrap();
    let news = outputs.news();
    assert_eq!(news.len(), 1, "{news:?}");
    let delivery = outputs.finish().remove(0);
    assert_eq!((delivery.delivered, delivery.lost), (0, 200));
    assert!(!delivery.problem.is_empty() && pushing < Duration::from_secs(60), "{delivery:?}, pushing took {pushing:?}");
}

#[test]
fn a_refusal_quotes_the_receivers_message() {
    let (address, _received) = crate::receiver::start("400 Bad Request");
    let delivery = fixtures::send(&format!("prometheus=http://{address}/api/v1/write"), "refused", 1);
    assert_eq!((delivery.lost, delivery.problem.as_str()), (1, "it answered 400 Bad Request: sorry"));
}
