//! Evidence from spans about growing times: simulated services with known times of each part.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::SeriesKind;
use loadstone_metrics::span::{RequestLabel, SpanKind, SpanPath, SpanSlice, TraceSlice};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::{Run, RunTraces};

use crate::changes::noise;
use crate::draws::Draws;
use crate::synthetic::{self, SECOND, Slice, open, plan};

/// A request of "shop", which calls "prices", which runs a query. Seconds.
#[derive(Clone, Copy)]
struct Parts {
    /// Before "shop" accepts it.
    outside: f64,
    /// In "shop", before the call.
    before_call: f64,
    /// In transit to "prices", or until "prices" accepts it.
    on_the_way: f64,
    /// In "prices", before each query.
    before_query: f64,
    query: f64,
    queries: u32,
    /// The queries run in sequence.
    one_by_one: bool,
    /// In "prices", after the queries.
    after: f64,
}

const USUAL: Parts = Parts {
    outside: 0.001,
    before_call: 0.002,
    on_the_way: 0.001,
    before_query: 0.0005,
    query: 0.003,
    queries: 1,
    one_by_one: true,
    after: 0.001,
};

const SECONDS: u32 = 60;

fn path(parent: Option<u32>, service: &str, name: &str, kind: SpanKind) -> SpanPath {
    let scenario = if parent.is_none() { "Buy" } else { "" };
    SpanPath { parent, scenario: scenario.into(), service: service.into(), name: name.into(), kind, label: RequestLabel::default() }
}

fn paths() -> Vec<SpanPath> {
    vec![
        path(None, "", "List", SpanKind::Request),
        path(Some(0), "shop", "GET /list", SpanKind::Server),
        path(Some(1), "shop", "GET", SpanKind::Client),
        path(Some(2), "prices", "GET /prices", SpanKind::Server),
        path(Some(3), "prices", "SELECT item", SpanKind::Client),
    ]
}

/// Adds one request to a second, and returns its service time. Seconds.
fn add(spans: &mut [SpanSlice], parts: Parts) -> f64 {
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let times = if parts.one_by_one { f64::from(parts.queries) } else { 1.0 };
    let (waits, queries) = (parts.before_query * times, parts.query * times);
    let prices = waits + queries + parts.after;
    let call = parts.on_the_way + prices;
    let shop = parts.before_call + call;
    // For each path: total time, own time, and the time right before it.
    let of_paths = [
        (shop, 0.0, 0.0),
        (shop, parts.before_call, 0.0),
        (call, parts.on_the_way, parts.before_call),
        (prices, waits + parts.after, parts.on_the_way),
    ];
    for (span, (total, own, lead)) in spans.iter_mut().zip(of_paths) {
        span.calls += 1;
        span.traces += 1;
        span.total.record(ns(total));
        span.own.record(ns(own));
        span.critical_ns += ns(own);
        span.lead_ns += ns(lead);
    }
    let query = &mut spans[4];
    query.traces += 1;
    query.calls += u64::from(parts.queries);
    for _ in 0..parts.queries {
        query.total.record(ns(parts.query));
        query.own.record(ns(parts.query));
    }
    query.critical_ns += ns(queries);
    query.lead_ns += ns(waits);
    parts.outside + shop
}

/// `rate` requests in each second, with noise on each part; every `sampled`-th has a trace.
fn run(profile: LoadProfile, rate: impl Fn(u32) -> u64, parts: impl Fn(u32) -> Parts, sampled: u64) -> Run {
    let mut draws = Draws::new(7);
    let mut traces = RunTraces { paths: paths(), ..RunTraces::default() };
    let mut number = 0;
    let slices = (0..SECONDS).map(|second| {
        let mut slice = Slice::new(second).arrivals(rate(second));
        let mut spans: Vec<SpanSlice> = (0..5).map(|path| SpanSlice { path, ..SpanSlice::default() }).collect();
        for _ in 0..rate(second) {
            let (usual, factor) = (parts(second), noise(0.2, &mut draws));
            let wavering = Parts { before_query: usual.before_query * factor, query: usual.query * factor, ..usual };
            number += 1;
            let mut unseen = spans.clone();
            let time = add(if number % sampled == 0 { &mut spans } else { &mut unseen }, wavering);
            slice.record(SeriesKind::Request, "List", 20_000, (time * 1e9) as u64, loadstone_metrics::Outcome::Passed);
        }
        traces.slices.push(TraceSlice { second, seconds: 1, spans });
        slice.done()
    });
    let slices = slices.collect();
    let mut run = synthetic::run_of(plan(profile), slices);
    run.traces = traces;
    run
}

/// From 10 to 70 requests per second; `parts` depend on the utilisation of the service, from 0.1 to 0.95.
fn ramp(parts: impl Fn(f64) -> Parts) -> Run {
    let profile = LoadProfile::Open {
        stages: vec![OpenStage::Rate { from: 10.0, to: 70.0, duration_ns: u64::from(SECONDS) * SECOND, timing: Timing::Even }],
    };
    run(profile, |second| u64::from(10 + second), |second| parts(0.1 + 0.85 * f64::from(second) / f64::from(SECONDS)), 1)
}

fn constant(parts: impl Fn(u32) -> Parts) -> Run {
    run(open(40.0, u64::from(SECONDS)), |_| 40, parts, 1)
}

/// Factor of the response time in a system with one place over that of an idle one (M/M/1).
fn queueing(full: f64) -> f64 {
    1.0 / (1.0 - full)
}

fn found(run: &Run, rule: &str) -> Vec<Finding> {
    conclude(run).verdict.findings.findings.into_iter().filter(|finding| finding.rule == rule).collect()
}

fn only(run: &Run, rule: &str) -> Finding {
    let all = conclude(run).verdict.findings.findings;
    let found = found(run, rule);
    assert_eq!(found.len(), 1, "{all:#?}");
    found.into_iter().next().unwrap()
}

#[test]
fn a_wait_before_a_query_is_distinguished_from_a_slow_query() {
    let waits = only(&ramp(|full| Parts { before_query: 0.003 * queueing(full) - 0.003, ..USUAL }), "span-growth");
    assert!(waits.claim.contains("of the added time of \"List\" under high load"), "{}", waits.claim);
    assert!(waits.claim.contains("spent in \"prices\" before `SELECT item`; `SELECT item` itself still takes 3."), "{}", waits.claim);
    assert_eq!(waits.confidence, Confidence::High);
    let slow = only(&ramp(|full| Parts { query: 0.003 * queueing(full), ..USUAL }), "span-growth");
    assert!(slow.claim.ends_with("spent in `SELECT item`, which \"prices\" calls"), "{}", slow.claim);
}

/// If many requests reach their time limit, the requests that end in a period differ from those that begin in it.
#[test]
fn spans_that_take_longer_than_their_requests_are_no_evidence_of_time_outside() {
    let growth = |low: f64| found(&constant(|second| Parts { outside: if second < 30 { low } else { 0.2 }, ..USUAL }), "span-growth");
    let outside = growth(0.001);
    assert!(outside[0].claim.contains("outside of its spans"), "{outside:?}");
    assert_eq!(growth(-0.004), []);
}

/// A message waits for the broker, not for the service that sends it.
#[test]
fn a_slow_broker_is_a_call_as_well() {
    let mut run = ramp(|full| Parts { query: 0.003 * queueing(full), ..USUAL });
    run.traces.paths[4] = path(Some(3), "prices", "send changes", SpanKind::Producer);
    let slow = only(&run, "span-growth");
    assert!(slow.claim.ends_with("spent in `send changes`, which \"prices\" calls"), "{}", slow.claim);
    assert_eq!(slow.next, "Check what `send changes` calls: observe it, or let it send spans, too.");
}

/// Times are constant up to the limit, which only the last quarter of a ramp exceeds; then a queue grows without bound.
#[test]
fn a_wait_that_only_the_highest_load_causes_is_found() {
    let knee = |full: f64| 0.000_5 + 2.0 * (full - 0.72).max(0.0);
    // With and without a slow second during the ramp.
    for slow_from in [0.6, 2.0] {
        let waits = only(
            &ramp(|full| {
                let is_slow = (slow_from..slow_from + 0.014).contains(&full);
                Parts { before_query: if is_slow { 0.1 } else { knee(full) }, ..USUAL }
            }),
            "span-growth",
        );
        assert!(waits.claim.contains("before `SELECT item`"), "{}", waits.claim);
    }
}

#[test]
fn a_wait_on_the_way_to_another_service_and_one_in_front_of_all() {
    let between = only(&ramp(|full| Parts { on_the_way: 0.003 * queueing(full), ..USUAL }), "span-growth");
    assert!(
        between.claim.contains("between \"prices\" and its caller \"shop\": in the network, or in a queue before `GET /prices` begins"),
        "{}",
        between.claim
    );
    let front = only(&ramp(|full| Parts { outside: 0.003 * queueing(full), ..USUAL }), "span-growth");
    assert!(front.claim.contains("outside of its spans: before `GET /list` in \"shop\" begins, or in the network"), "{}", front.claim);
    assert_eq!(front.confidence, Confidence::Medium, "the network is not ruled out");
}

#[test]
fn a_step_under_constant_load_reports_its_time() {
    let step = only(&constant(|second| if second >= 30 { Parts { after: 0.040, ..USUAL } } else { USUAL }), "span-growth");
    assert!(step.claim.contains("from 0:30 on"), "{}", step.claim);
    assert!(step.claim.ends_with("spent in `GET /prices` of \"prices\" itself"), "{}", step.claim);
}

#[test]
fn more_calls_are_distinguished_from_slower_calls() {
    let more = only(&ramp(|full| Parts { queries: (1.0 + 10.0 * full) as u32, ..USUAL }), "span-growth");
    assert!(more.claim.contains("`SELECT item`"), "{}", more.claim);
    assert!(more.next.contains("more often than before"), "{}", more.next);
    assert!(more.evidence.iter().any(|evidence| evidence.text.contains("ms each, 2 → 7.")), "{:?}", more.evidence);
}

/// One in twenty requests has a trace: the means represent all requests.
#[test]
fn a_part_of_the_traces_is_enough_and_a_handful_is_not() {
    let waits = |second: u32| Parts { before_query: 0.003 * queueing(0.1 + 0.85 * f64::from(second) / f64::from(SECONDS)), ..USUAL };
    let profile = || LoadProfile::Open {
        stages: vec![OpenStage::Rate { from: 100.0, to: 700.0, duration_ns: u64::from(SECONDS) * SECOND, timing: Timing::Even }],
    };
    let sampled = |every| run(profile(), |second| u64::from(100 + 10 * second), waits, every);
    assert!(only(&sampled(10), "span-growth").claim.contains("before `SELECT item`"));
    assert!(found(&sampled(2_000), "span-growth").is_empty());
}

#[test]
fn parts_that_did_not_grow_or_grew_everywhere_are_no_finding() {
    let healthy = constant(|_| USUAL);
    let hardly = ramp(|full| Parts { query: 0.003 + 0.000_5 * full, ..USUAL });
    let everywhere = ramp(|full| {
        let by = 0.002 * queueing(full);
        Parts { outside: by, before_call: by, before_query: by, query: by, ..USUAL }
    });
    // Most of the growth of the mean comes from three seconds at the end.
    let moments = ramp(|full| Parts { query: if full > 0.91 { 0.5 } else { 0.003 * (1.0 + full) }, ..USUAL });
    for (what, run) in [("healthy", healthy), ("hardly", hardly), ("everywhere", everywhere), ("moments", moments)] {
        let found = found(&run, "span-growth");
        assert!(found.is_empty(), "{what}: {found:#?}");
    }
}

#[test]
fn one_query_per_row_is_named_and_parallel_queries_are_not() {
    let each_row = only(&constant(|_| Parts { queries: 41, ..USUAL }), "repeated-calls");
    assert!(each_row.claim.starts_with("\"List\" calls `SELECT item` 41 times per request, one after another: 9"), "{}", each_row.claim);
    assert_eq!(each_row.confidence, Confidence::High);
    let one_by_one = "% of their time adds up along the request path.";
    let reported = &each_row.alternatives[0];
    assert!(reported.text.starts_with("Calls that run at the same time. Ruled out: ") && reported.text.ends_with(one_by_one), "{reported}");
    for (what, parts) in [
        ("at once", Parts { queries: 41, one_by_one: false, ..USUAL }),
        ("few", Parts { queries: 4, ..USUAL }),
        ("elsewhere", Parts { queries: 12, query: 0.000_1, before_query: 0.0, before_call: 0.050, ..USUAL }),
    ] {
        assert!(found(&constant(|_| parts), "repeated-calls").is_empty(), "{what}");
    }
}

#[test]
fn a_run_without_traces_has_no_findings_on_spans() {
    let mut run = ramp(|full| Parts { query: 0.003 * queueing(full), ..USUAL });
    run.traces = RunTraces::default();
    assert!(found(&run, "span-growth").is_empty() && found(&run, "repeated-calls").is_empty());
}

/// The requests of a run as those of a scenario with this name, under the names "List" and, in its spans, the same.
fn in_scenario(mut run: Run, scenario: &str) -> Run {
    for slice in &mut run.slices {
        slice.series.iter_mut().for_each(|series| series.key.scenario = scenario.into());
    }
    run.traces.paths[0].scenario = scenario.into();
    run
}

/// Puts the requests and the spans of another run into this one.
fn joined(mut run: Run, other: Run) -> Run {
    for (slice, other) in run.slices.iter_mut().zip(other.slices) {
        slice.series.extend(other.series);
    }
    let first = run.traces.paths.len() as u32;
    run.traces
        .paths
        .extend(other.traces.paths.into_iter().map(|path| SpanPath { parent: path.parent.map(|parent| parent + first), ..path }));
    for (slice, other) in run.traces.slices.iter_mut().zip(other.traces.slices) {
        slice.spans.extend(other.spans.into_iter().map(|span| SpanSlice { path: span.path + first, ..span }));
    }
    run
}

/// Two scenarios have a request called "List". Only the one of the second scenario slows down, in its query.
#[test]
fn a_name_that_scenarios_share_finds_the_spans_of_its_own_scenario() {
    let slower = |second: u32| if second < 30 { USUAL } else { Parts { query: 0.023, ..USUAL } };
    let mut run = joined(in_scenario(constant(|_| USUAL), "Admins"), in_scenario(constant(slower), "Buyers"));
    let before = run.clone();
    let summary = loadstone_analysis::conclude_in_place(&mut run);
    assert_eq!(run, before, "the requests have their own names again");
    assert_eq!(conclude(&run), summary);
    let found =
        summary.verdict.findings.findings.iter().find(|finding| finding.evidence.iter().any(|one| one.text.contains("SELECT item")));
    let found = found.unwrap_or_else(|| panic!("no finding has the span: {:#?}", summary.verdict.findings));
    assert!(found.claim.contains("List (Buyers)"), "{}", found.claim);
    let rows: Vec<(&str, &str)> = summary.spans.iter().map(|row| (row.scenario.as_str(), row.name.as_str())).collect();
    assert_eq!(rows, [("Admins", "List"), ("Buyers", "List")]);
    assert!(summary.spans.iter().all(|row| row.spans.iter().any(|span| span.name == "SELECT item")));
}
