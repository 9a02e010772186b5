//! Recordings of the real tools: k6 1.3, vegeta 12, JMeter 5.4.3, hey, nginx. What each tool did is known from its script.

use std::collections::BTreeMap;

use loadstone_metrics::{Outcome, SeriesKind, Snapshot};
use loadstone_plan::LoadModel;
use loadstone_watch::{ReaderChoices, read_all};

/// A wall time before all recordings.
const BEFORE_NS: u64 = 1_795_889_000_000_000_000;
/// A wall time before those of Artillery and autocannon.
const BEFORE_NODE_NS: u64 = 1_795_924_810_000_000_000;

fn log_format(pattern: &str) -> ReaderChoices<'_> {
    ReaderChoices { log_format: Some(pattern), ..ReaderChoices::default() }
}

/// Requests, groups, checks or iterations by name and outcome.
pub(crate) fn counts(slices: &[Snapshot], kind: SeriesKind) -> BTreeMap<(String, Outcome), u64> {
    let mut all = BTreeMap::new();
    for series in slices.iter().flat_map(|slice| &slice.series).filter(|series| series.key.kind == kind) {
        for (outcome, count) in &series.outcomes {
            *all.entry((series.key.name.to_string(), *outcome)).or_insert(0) += count;
        }
    }
    all
}

pub(crate) fn of<const N: usize>(counts: [(&str, Outcome, u64); N]) -> BTreeMap<(String, Outcome), u64> {
    counts.into_iter().map(|(name, outcome, count)| ((name.to_owned(), outcome), count)).collect()
}

pub(crate) fn unreadable(slices: &[Snapshot]) -> u64 {
    slices.iter().filter_map(|slice| slice.record.as_ref()).map(|record| record.unreadable).sum()
}

/// Two VUs, four iterations: each sends a request in a group, checks it, and sends one to a path that does not exist. Some meet a closed port.
#[test]
fn k6_has_requests_groups_checks_and_iterations() {
    let slices =
        read_all("k6-json", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, include_bytes!("../recordings/k6.json")).unwrap();
    let requests = counts(&slices, SeriesKind::Request);
    let at = |name: &str, outcome| requests.get(&(name.to_owned(), outcome)).copied();
    assert_eq!(at("List products", Outcome::Passed), Some(4), "{requests:?}");
    assert_eq!(at("GET /gone/{id}", Outcome::Status), Some(4));
    assert_eq!(at("GET /none", Outcome::Refused), Some(2));
    assert_eq!(counts(&slices, SeriesKind::Iteration).values().sum::<u64>(), 4);
    assert_eq!(counts(&slices, SeriesKind::Group), of([("Shop", Outcome::Passed, 4)]));
    assert_eq!(counts(&slices, SeriesKind::Check), of([("is 200", Outcome::Passed, 4)]));
    assert_eq!(slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.started).sum::<u64>(), 4);
    assert_eq!(unreadable(&slices), 0);
}

#[test]
fn vegeta_has_responses_statuses_and_refused_connections() {
    let slices =
        read_all("vegeta-csv", ReaderChoices::default(), LoadModel::Arrivals, BEFORE_NS, include_bytes!("../recordings/vegeta.csv"))
            .unwrap();
    let three = [("GET /gone/{id}", Outcome::Status, 3), ("GET /none", Outcome::Refused, 3), ("GET /products/{id}", Outcome::Passed, 3)];
    assert_eq!(counts(&slices, SeriesKind::Request), of(three));
    let due: u64 = slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.arrivals_due).sum();
    assert_eq!((due, unreadable(&slices)), (9, 0));
}

/// JMeter's transaction controller is a group, not a request.
#[test]
fn jmeter_has_samples_transactions_and_users() {
    let slices =
        read_all("jtl", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, include_bytes!("../recordings/jmeter.jtl")).unwrap();
    let requests = counts(&slices, SeriesKind::Request);
    let at = |name: &str, outcome| requests.get(&(name.to_owned(), outcome)).copied();
    assert_eq!((at("List products", Outcome::Passed), at("Refused", Outcome::Refused)), (Some(5), Some(5)), "{requests:?}");
    assert_eq!(counts(&slices, SeriesKind::Group), of([("Buy", Outcome::Passed, 5)]));
    let users = slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.users_active).max();
    assert_eq!((users, unreadable(&slices)), (Some(4), 0));
}

#[test]
fn locust_has_requests_and_users() {
    let slices =
        read_all("locust", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, include_bytes!("../recordings/locust.jsonl")).unwrap();
    let requests = counts(&slices, SeriesKind::Request);
    assert_eq!(requests.values().sum::<u64>(), 8, "{requests:?}");
    assert!(requests.keys().all(|(name, _)| name == "GET /orders" || name == "GET /products/[id]"), "{requests:?}");
    let users = slices.iter().flat_map(|slice| &slice.leaves).map(|leaf| leaf.users_active).max();
    assert_eq!((users, unreadable(&slices)), (Some(2), 0));
}

#[test]
fn hey_counts_from_its_start() {
    let slices =
        read_all("hey-csv", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, include_bytes!("../recordings/hey.csv")).unwrap();
    assert_eq!(counts(&slices, SeriesKind::Request), of([("requests", Outcome::Passed, 8)]));
    assert_eq!((slices.len(), unreadable(&slices)), (1, 0));
}

/// The same requests in nginx's combined format with the request time, and as JSON.
#[test]
fn nginx_logs_in_two_formats_have_the_same_requests() {
    const JSON: &str = r#"{"at":"$msec","method":"$request_method","path":"$request_uri","status":"$status","time":"$request_time"}"#;
    let combined =
        read_all("access-log", ReaderChoices::default(), LoadModel::Arrivals, BEFORE_NS, include_bytes!("../recordings/nginx.log"))
            .unwrap();
    let json =
        read_all("access-log", log_format(JSON), LoadModel::Arrivals, BEFORE_NS, include_bytes!("../recordings/nginx.json.log")).unwrap();
    let found = counts(&combined, SeriesKind::Request);
    assert_eq!(found, counts(&json, SeriesKind::Request));
    assert!(found.contains_key(&("GET /gone/{id}".to_owned(), Outcome::Status)), "{found:?}");
    assert_eq!((unreadable(&combined), unreadable(&json)), (0, 0));
}

#[test]
fn a_log_format_that_lacks_a_field_is_refused_with_the_remedy() {
    for (pattern, part) in [
        ("$remote_addr [$time_local] \"$request\" $status", "$request_time"),
        ("\"$request\" $status $request_time", "$time_local"),
        ("$msec$request_time \"$request\" $status", "no text between"),
        ("%h %l %u %t \"%r\" %>s %b", "%D"),
    ] {
        let problem = read_all("access-log", log_format(pattern), LoadModel::Arrivals, BEFORE_NS, b"").unwrap_err().to_string();
        assert!(problem.contains(part), "{pattern}: {problem}");
    }
    let unknown = read_all("k6json", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, b"").unwrap_err().to_string();
    assert!(unknown.contains("k6-json"), "{unknown}");
}

/// Apache logs the begin of a request.
#[test]
fn apache_times_count_from_the_begin() {
    let line = br#"10.0.0.1 - - [28/Nov/2026:17:40:02 +0000] "GET /shop/1 HTTP/1.1" 200 12 2500000"#;
    let began_ns = 1_795_887_602_000_000_000;
    let pattern = r#"%h %l %u %t "%r" %>s %b %D"#;
    let slices = read_all("access-log", log_format(pattern), LoadModel::Arrivals, began_ns - 1_000_000_000, line).unwrap();
    let at: Vec<u32> = slices.iter().filter(|slice| !slice.series.is_empty()).map(|slice| slice.slice).collect();
    let started: Vec<u32> = slices.iter().filter(|slice| slice.leaves[0].started > 0).map(|slice| slice.slice).collect();
    assert_eq!((started, at), (vec![1], vec![3]));
}

/// The sample line of Envoy's documentation, and those of Istio's.
#[test]
fn access_logs_of_envoy_and_istio_are_read() {
    let envoy = br#"[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0""#;
    let istio = br#"[2020-11-25T21:26:18.409Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "-" "curl/7.73.0-DEV" "84961386" "httpbin:8000"
[2020-11-25T21:26:18.500Z] "GET /delay/1 HTTP/1.1" 200 - via_upstream - "-" 0 135 1003 1000 "-" "curl/7.73.0-DEV" "84961386" "httpbin:8000" "-""#;
    // date -u -d 2016-04-15T20:17:00Z +%s, and the same for the other.
    for (format, line, began_s, expected) in [
        ("envoy", &envoy[..], 1_460_751_420, of([("POST /api/v1/locations", Outcome::Passed, 1)])),
        ("istio", &istio[..], 1_606_339_578, of([("GET /delay/{id}", Outcome::Passed, 1), ("GET /status/{id}", Outcome::Status, 1)])),
    ] {
        let slices = read_all("access-log", log_format(format), LoadModel::Arrivals, began_s * 1_000_000_000, line).unwrap();
        assert_eq!((counts(&slices, SeriesKind::Request), unreadable(&slices)), (expected, 0), "{format}");
        let longest = slices.iter().flat_map(|slice| &slice.series).map(|series| series.service.max()).max().unwrap();
        assert_eq!(longest / 1_000_000, if format == "envoy" { 226 } else { 1_003 });
    }
}

/// Samples as JMeter writes them as XML: a redirect inside of a sample is a part of it, and data of a sample is no record.
#[test]
fn jmeter_results_as_xml_are_read() {
    let xml = include_bytes!("../recordings/jmeter.xml.jtl");
    let slices = read_all("jtl", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, xml).unwrap();
    let requests = of([("List \"products\"", Outcome::Passed, 1), ("Refused", Outcome::Refused, 1)]);
    assert_eq!(counts(&slices, SeriesKind::Request), requests);
    assert_eq!(counts(&slices, SeriesKind::Group), of([("Buy", Outcome::Passed, 1)]));
    assert_eq!((slices.iter().map(|slice| slice.leaves[0].users_active).max(), unreadable(&slices)), (Some(3), 0));
    let wait = slices.iter().flat_map(|slice| &slice.series).map(|series| series.phases.wait.max()).max();
    assert_eq!(wait, Some(13_000_000));
}

/// What Locust states in its last line: it rounds times of 100 ms and more to two digits.
#[test]
fn percentiles_that_locust_states_are_next_to_those_of_its_record() {
    let requests = (0..100).map(|number| format!("[\"r\", 1795890272.9, {}, \"GET\", \"/a\", 200, 2, \"\"]\n", 100 + number));
    let record: String = requests.chain(["[\"p\", [[0.5, 150], [0.99, 200]]]\n".to_owned()]).collect();
    let slices = read_all("locust", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, record.as_bytes()).unwrap();
    let stated = slices.iter().filter_map(|slice| slice.record.as_ref()?.stated.clone()).next().unwrap();
    let milliseconds = |ns: u64| (ns as f64 / 1e6).round();
    let found: Vec<(f64, f64, f64)> =
        stated.percentiles.iter().map(|one| (one.quantile, milliseconds(one.stated_ns), milliseconds(one.recorded_ns))).collect();
    assert_eq!(found, [(0.5, 150.0, 149.0), (0.99, 200.0, 198.0)]);
}

/// HAProxy 2.6 with `log-format '%ci - - [%trg] "%HM %HPO %HV" %ST %B %Ta'`. The run began in the middle of the second that the first line shows.
#[test]
fn whole_seconds_of_haproxy_do_not_lie_before_the_run() {
    let lines = br#"127.0.0.1 - - [28/Nov/2026:21:58:02 +0000] "GET /orders/12 HTTP/1.1" 200 124 3
127.0.0.1 - - [28/Nov/2026:21:58:03 +0000] "GET /orders/13 HTTP/1.1" 503 107 1
127.0.0.1 - - [28/Nov/2026:21:57:59 +0000] "GET /orders/11 HTTP/1.1" 200 124 0"#;
    let began_ns = 1_795_903_082_700_000_000;
    let slices = read_all("access-log", log_format(r#"%h %l %u %t "%r" %>s %B %{ms}T"#), LoadModel::Arrivals, began_ns, lines).unwrap();
    let requests = of([("GET /orders/{id}", Outcome::Passed, 1), ("GET /orders/{id}", Outcome::Status, 1)]);
    assert_eq!(counts(&slices, SeriesKind::Request), requests);
    let outside: u64 = slices.iter().filter_map(|slice| slice.record.as_ref()).map(|record| record.outside).sum();
    assert_eq!((outside, unreadable(&slices)), (1, 0));
}

/// autocannon 8, by the plugin: twelve responses, and three attempts to connect to a closed port.
#[test]
fn autocannon_has_responses_and_refused_connections() {
    let record = include_bytes!("../recordings/autocannon.jsonl");
    let slices = read_all("autocannon", ReaderChoices::default(), LoadModel::Users, BEFORE_NODE_NS, record).unwrap();
    let requests = of([("GET /orders/{id}", Outcome::Passed, 12), ("GET /x", Outcome::Refused, 3)]);
    assert_eq!((counts(&slices, SeriesKind::Request), unreadable(&slices)), (requests, 0));
}

/// Artillery 2.0.10, by the plugin. Artillery counts from the end of sending to the head of the response, so its times are shorter.
#[test]
fn artillery_has_requests_by_path_and_its_own_times() {
    let record = include_str!("../recordings/artillery.jsonl").to_owned() + "[\"p\",[[0.99,60]]]\n";
    let slices = read_all("artillery", ReaderChoices::default(), LoadModel::Arrivals, BEFORE_NODE_NS, record.as_bytes()).unwrap();
    let requests = of([("GET /gone", Outcome::Passed, 8), ("GET /products/{id}", Outcome::Passed, 8)]);
    assert_eq!((counts(&slices, SeriesKind::Request), unreadable(&slices)), (requests, 0));
    let stated = slices.iter().find_map(|slice| slice.record.as_ref()?.stated.clone()).unwrap().percentiles[0];
    let longest = slices.iter().flat_map(|slice| &slice.series).map(|series| series.service.max()).max();
    assert!(longest.is_some_and(|longest| longest > stated.recorded_ns), "{longest:?} {stated:?}");
}

/// autocannon 9 reports a response with status 503 without an error, as Artillery does. Locust decides by itself, such as after `response.success()`.
#[test]
fn a_status_without_an_error_fails_unless_the_tool_decides() {
    let line = br#"["r",1795924814.5,12.5,"GET","/bad",503,3,"",null]"#;
    let outcome = |format| {
        let slices = read_all(format, ReaderChoices::default(), LoadModel::Users, BEFORE_NODE_NS, line).unwrap();
        counts(&slices, SeriesKind::Request)
    };
    assert_eq!(outcome("autocannon"), of([("GET /bad", Outcome::Status, 1)]));
    assert_eq!(outcome("artillery"), of([("GET /bad", Outcome::Status, 1)]));
    assert_eq!(outcome("locust"), of([("GET /bad", Outcome::Passed, 1)]));
}

/// By the sources of oha 1.16 (`print_csv`): start, name resolution, the same with connecting, first byte, duration, bytes, status.
#[test]
fn oha_counts_from_its_start() {
    let record = b"request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n\
        0.000512,0.0001,0.0004,0.0124,0.0126,2,200\n0.000517,0,0,0.0301,0.0302,2,503\n1.2,0,0,0.004,0.004,2,200\nnonsense\n";
    let slices = read_all("oha-csv", ReaderChoices::default(), LoadModel::Users, BEFORE_NS, record).unwrap();
    let requests = of([("requests", Outcome::Passed, 2), ("requests", Outcome::Status, 1)]);
    assert_eq!((counts(&slices, SeriesKind::Request), slices.len(), unreadable(&slices)), (requests, 2, 1));
    let first = &slices[0].series.iter().find(|series| series.key.kind == SeriesKind::Request).unwrap().phases;
    assert_eq!((first.dns.max(), first.connect.max(), first.body.max()), (100_000, 300_000, 200_000));
}

/// Lines of real servers for connections without a request are no requests, and are not unreadable either. One that was processed is.
#[test]
fn lines_without_a_request_are_counted_apart() {
    let lines = br#"203.0.113.9 - - [28/Nov/2026:21:58:02 +0000] "\x16\x03\x01\x02\x00\x01" 400 157 "-" "-" 0.000
203.0.113.9 - - [28/Nov/2026:21:58:02 +0000] "" 400 0 "-" "-" 1.000
203.0.113.9 - - [28/Nov/2026:21:58:02 +0000] "-" 408 0 "-" "-" -
203.0.113.9 - - [28/Nov/2026:21:58:03 +0000] "GET /orders/13 HTTP/1.1" 400 107 "-" "-" 0.001
203.0.113.9 - - [28/Nov/2026:21:58:03 +0000] "GET" 200 107 "-" "-" 0.001"#;
    let slices = read_all("access-log", ReaderChoices::default(), LoadModel::Arrivals, 1_795_903_082_000_000_000, lines).unwrap();
    assert_eq!(counts(&slices, SeriesKind::Request), of([("GET /orders/{id}", Outcome::Status, 1)]));
    let apart: u64 = slices.iter().filter_map(|slice| slice.record.as_ref()).map(|record| record.no_requests).sum();
    assert_eq!((apart, unreadable(&slices)), (3, 1));
}
