//! Small cases of known truth, from the conversion to the services that are named.

use std::collections::BTreeSet;

use super::case::{CaseAnswer, CaseSpan, FaultKind, KnownOnset, Measured, ReplayCase, ServiceSignal, SpanRole};
use super::floor::{self, Floor};
use super::score::CaseRating;
use super::*;

const MS: u64 = 1_000_000;
const RATE: u64 = 10;
const SECONDS: u64 = 120;
const ONSET_S: u64 = 60;

/// Pseudo-random and the same every time, from 0 to 1 (Weyl).
fn varied(number: u64) -> f64 {
    (number as f64 * 0.618_033_988_75).fract()
}

/// Requests of "front", which calls "cart" and then "ads". `cart_ms`: what "cart" itself takes after the onset; 10 before.
fn spans(cart_ms: u64) -> Vec<CaseSpan> {
    let mut spans = Vec::new();
    for number in 0..RATE * SECONDS {
        let start = number * 1_000 * MS / RATE;
        let factor = 0.9 + 0.2 * varied(number);
        let of = |ms: u64| (ms as f64 * factor * MS as f64) as u64;
        let cart = of(if number >= RATE * ONSET_S { cart_ms } else { 10 });
        let (called, answered) = (start + of(2), start + of(3));
        let (back, second) = (answered + cart + of(1), answered + cart + of(2));
        let end = second + of(8);
        let trace = u128::from(number + 1);
        let mut span = |id: u64, parent: u64, service: &str, name: &str, role, (from, to): (u64, u64)| {
            let (service, name) = (service.to_owned(), name.to_owned());
            spans.push(CaseSpan { trace, id, parent, service, name, role, start_ns: from, end_ns: to, failed: false });
        };
        span(1, 0, "front", "GET /", SpanRole::Server, (start, end));
        span(2, 1, "front", "Cart/Get", SpanRole::Client, (called, back));
        span(3, 2, "cart", "Cart/Get", SpanRole::Server, (answered, answered + cart));
        span(4, 1, "front", "Ads/List", SpanRole::Client, (second, end - of(1)));
        span(5, 4, "ads", "Ads/List", SpanRole::Server, (second + of(1), end - of(2)));
    }
    spans
}

fn case(cart_ms: u64, answer: Option<&str>) -> ReplayCase {
    let answer = answer.map(|service| CaseAnswer { service: service.to_owned(), fault: "return".to_owned(), kind: FaultKind::Code });
    ReplayCase {
        name: "synthetic".to_owned(),
        system: "synthetic",
        answer,
        services: ["front", "cart", "ads"].map(str::to_owned).into(),
        zero_wall_ns: 1_700_000_000_000_000_000,
        spans: spans(cart_ms),
        has_traces: true,
        signals: Vec::new(),
        known_onset: None,
        covers_fault: true,
        missing: String::new(),
    }
}

/// A new folder below the one for temporary files, removed at the end.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("loadstone-replay-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn result(case: &ReplayCase, name: &str) -> ReplayResult {
    let folder = TestFolder::new(name);
    one(case, &folder.0, Duration::from_secs(120)).unwrap()
}

#[test]
fn the_service_whose_own_code_slows_down_is_named_first() {
    let result = result(&case(60, Some("cart")), "slow");
    assert_eq!((result.rating(), result.is_kind_right, &*result.rule), (CaseRating::Right, true, "span-growth"), "{result:?}");
}

#[test]
fn the_floor_of_spans_ranks_the_service_whose_time_grew() {
    let known = KnownOnset { at: ONSET_S as f64, signals: Vec::new() };
    let result = result(&ReplayCase { known_onset: Some(known), ..case(60, Some("cart")) }, "floor");
    assert_eq!(result.spans.first().map(String::as_str), Some("cart"), "{result:?}");
}

#[test]
fn no_service_of_a_system_without_a_fault_is_accused() {
    let result = result(&case(10, None), "healthy");
    assert!(result.named.is_empty(), "{result:?}");
}

#[test]
fn a_run_directory_has_the_requests_the_spans_and_the_signals_of_its_case() {
    let folder = TestFolder::new("record");
    let signal = ServiceSignal {
        service: "cart".to_owned(),
        metric: "CpuUsage".to_owned(),
        unit: "cores",
        measured: Measured::Cores,
        readings: vec![(5.5, 0.25), (65.5, 0.5)],
    };
    let case = ReplayCase { signals: vec![signal], ..case(10, None) };
    let directory = record::write(&case, &folder.0).unwrap();
    let run = Reader::open(&directory).unwrap().run().unwrap();
    let requests: u64 = run.slices.iter().flat_map(|slice| &slice.series).map(|series| series.count).sum();
    assert_eq!(requests, RATE * SECONDS);
    let traces: u64 = run.traces.slices.iter().flat_map(|slice| &slice.spans).filter(|span| span.path == 0).map(|span| span.calls).sum();
    assert_eq!((traces, run.traces.paths.len()), (RATE * SECONDS, 6));
    let request = &run.traces.paths[0];
    let series = run.slices.iter().flat_map(|slice| &slice.series).next().unwrap();
    assert_eq!((&*request.scenario, &*request.name), (&*series.key.scenario, &*series.key.name), "findings join them by name");
    let read = &run.signals[0];
    let points: Vec<(u64, f64)> = read.points.iter().map(|point| (point.at / MS, point.value)).collect();
    assert_eq!((&*read.signal.observer, points), ("cart", vec![(5_500, 0.25), (65_500, 0.5)]));
}

#[test]
fn the_answer_does_not_reach_the_run() {
    let folder = TestFolder::new("answer");
    let written = |answer: Option<&str>| {
        let directory = record::write(&case(60, answer), &folder.0).unwrap();
        let files = ["run.json", "snapshots.jsonl", "traces.jsonl", "signals.jsonl"];
        let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
        // The id is the directory's name, which is new each time.
        files.map(read).map(|text| text.replace(&*directory.file_name().unwrap().to_string_lossy(), "ID"))
    };
    let (with, without) = (written(Some("cart")), written(None));
    assert!(!with[0].is_empty());
    assert_eq!(with, without);
}

#[test]
fn floors_rank_the_service_with_the_largest_change() {
    let signal = |service: &str, after: f64| ServiceSignal {
        service: service.to_owned(),
        metric: "m".to_owned(),
        unit: "1",
        measured: Measured::Other,
        readings: (0..10).map(|at| (f64::from(at), if at < 8 { 10.0 + f64::from(at % 3) } else { after })).collect(),
    };
    let known = KnownOnset { at: 8.0, signals: vec![signal("a", 11.0), signal("b", 40.0), signal("c", 15.0)] };
    for floor in [Floor::Alerts, Floor::Baro] {
        let ranked = floor::ranked(&known, floor);
        assert_eq!(ranked.first().map(String::as_str), Some("b"), "{floor:?}");
        assert_eq!(ranked.iter().collect::<BTreeSet<_>>().len(), ranked.len());
    }
}
