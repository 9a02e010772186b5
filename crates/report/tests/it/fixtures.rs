//! A run of a small shop, written by hand: every number follows from this file.

use std::sync::Arc;

use loadstone_analysis::{
    Alternative, ChangeRow, ChangedThing, CheckRow, Confidence, ErrorRow, ErrorSample, Evidence, Finding, Findings, FlowDrain, FlowRow,
    FlowStageRow, Grade, MetricRow, MissingKnowledge, Percentile, Remark, RemarkKind, RequestRow, ResourceKind, ResourceRow, ResourceUse,
    RuleId, RunTotals, SignalRow, Subject, Summary, ThresholdResult, ThresholdState, TimeStats, Validity, ValidityCheck, Verdict,
};
use loadstone_metrics::{
    GeneratorSlice, Histogram, LeafSlice, Mark, MarkKind, Outcome, SeriesKey, SeriesKind, SeriesSlice, Signal, SignalKind, SignalPoint,
    SlowSample, Snapshot, Tags, TraceId,
};
use loadstone_plan::{
    Aggregate, Comparison, Load, LoadProfile, Metric, MetricKind, Parameter, ParameterKind, ParameterOrigin, ScenarioId, ScenarioRun,
    TestPlan, Threshold,
};
use loadstone_run_directory::{HostFacts, Run, RunEnd, RunInfo, SignalSeries};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn key(kind: SeriesKind, scenario: &str, name: &str) -> SeriesKey {
    SeriesKey::new(kind, scenario, name)
}

pub(crate) fn plan() -> TestPlan {
    let leaf = |scenario, profile| Load::Run(ScenarioRun::new(ScenarioId(scenario), profile));
    let load = Load::Parallel(vec![leaf(0, LoadProfile::rate(100.0, 60 * SECOND)), leaf(1, LoadProfile::users(20, 60 * SECOND))]);
    TestPlan {
        target: Some("http://127.0.0.1:8080".to_owned()),
        parameters: vec![
            parameter("usersPerSecond", "100", false, Some("new travellers per second")),
            parameter("apiKey", "hunter2", true, None),
        ],
        ..TestPlan::new("tickets", ["Buy a ticket", "Validator"], load)
    }
}

fn parameter(name: &str, value: &str, secret: bool, help: Option<&str>) -> Parameter {
    Parameter {
        name: name.to_owned(),
        kind: ParameterKind::String,
        help: help.map(str::to_owned),
        default: None,
        value: value.to_owned(),
        origin: ParameterOrigin::CommandLine,
        secret,
    }
}

pub(crate) fn info() -> RunInfo {
    RunInfo {
        format: 1,
        id: "2026-11-20T18-30-05-tickets".to_owned(),
        loadstone: "0.1.0".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        file: Some("tickets.load.ts".to_owned()),
        script: None,
        commit: None,
        branch: None,
        dirty: false,
        workers: 2,
        host: HostFacts {
            hostname: "host-1".to_owned(),
            cpu: "AMD EPYC".to_owned(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.1".to_owned(),
            descriptors_max: 65_536,
        },
        tags: vec!["nightly".to_owned()],
        agents: Vec::new(),
        fleet: None,
    }
}

/// A second with 100 arrivals. Each sends one request of `10 + i mod 10` ms, of which 2 ms are the connect and the rest the wait. One of them fails
/// with a status every second. Two workers are busy 30 % and 50 %.
pub(crate) fn slice(number: u32) -> Snapshot {
    let start = u64::from(number) * SECOND;
    let mut requests = SeriesSlice::new(key(SeriesKind::Request, "Buy a ticket", "Create ticket"));
    let mut iterations = SeriesSlice::new(key(SeriesKind::Iteration, "Buy a ticket", "Buy a ticket"));
    for i in 0..100u64 {
        let response = (10 + i % 10) * MS;
        requests.response.record(response);
        requests.service.record(response);
        requests.phases.connect.record(2 * MS);
        requests.phases.wait.record(response - 2 * MS);
        iterations.response.record(response);
    }
    requests.count = 100;
    requests.failed = 1;
    requests.outcomes = vec![(Outcome::Passed, 99), (Outcome::Status, 1)];
    requests.statuses = vec![(200, 99), (500, 1)];
    requests.bytes_sent = 10_000;
    requests.bytes_received = 50_000;
    requests.lag.record_n(MS / 2, 100);
    iterations.count = 100;
    iterations.outcomes = vec![(Outcome::Passed, 100)];
    let mut read_lag = Histogram::new();
    read_lag.record_n(MS / 10, 5);
    read_lag.record(MS);
    let worker = |worker: u32, busy_ns: u64| GeneratorSlice {
        worker,
        wall_ns: SECOND,
        busy_ns,
        in_flight_ns: 725 * MS,
        connections: 5,
        connections_opened: u64::from(number == 0) * 5,
        read_lag: read_lag.clone(),
        ..GeneratorSlice::default()
    };
    Snapshot {
        slice: number,
        start,
        end: start + SECOND,
        series: vec![requests, iterations],
        leaves: vec![
            LeafSlice {
                leaf: 0,
                arrivals_due: 100,
                started: 100,
                ended: 100,
                users_active: 2,
                active_ns: 1450 * MS,
                ..LeafSlice::default()
            },
            LeafSlice {
                leaf: 1,
                started: 40,
                ended: 40,
                users_asked: 20,
                users_active: 20,
                active_ns: 20 * SECOND,
                ..LeafSlice::default()
            },
        ],
        generator: vec![worker(0, 300 * MS), worker(1, 500 * MS)],
        slow: vec![slow(start + 40 * MS, (19 + u64::from(number)) * MS)],
        marks: if number == 0 {
            vec![Mark { at: 0, kind: MarkKind::Stage, text: "Buy a ticket: 100 arrivals/s".to_owned() }]
        } else {
            Vec::new()
        },
        ..Snapshot::default()
    }
}

fn slow(started: u64, response_ns: u64) -> SlowSample {
    SlowSample {
        key: key(SeriesKind::Request, "Buy a ticket", "Create ticket"),
        started,
        response_ns,
        dns_ns: 0,
        connect_ns: 2 * MS,
        tls_ns: 0,
        queue_ns: 0,
        wait_ns: response_ns - 2 * MS,
        body_ns: 0,
        status: 200,
        outcome: Outcome::Passed,
        trace: None,
    }
}

pub(crate) fn run(seconds: u32) -> Run {
    Run { end: Some(RunEnd::Completed), ..Run::new(info(), plan(), (0..seconds).map(slice).collect()) }
}

pub(crate) fn signal(name: &str, observer: &str, kind: SignalKind, unit: &str, points: &[(u64, f64)]) -> SignalSeries {
    let metric = name.strip_prefix(observer).and_then(|rest| rest.strip_prefix('/')).expect("a name that begins with its observer");
    SignalSeries {
        signal: Signal::new(observer, metric, kind, unit),
        points: points.iter().map(|(ms, value)| SignalPoint { at: ms * MS, value: *value }).collect(),
    }
}

/// Percentiles from a histogram. Those with fewer than ten samples beyond them are left out.
pub(crate) fn times(histogram: &Histogram) -> TimeStats {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let percentile = |quantile: f64| {
        let beyond = (histogram.count() as f64 * (1.0 - quantile)).round() as u64;
        let value = histogram.quantile(quantile).filter(|_| beyond >= 10).map(seconds);
        Percentile {
            quantile,
            value,
            low: value.map(|v| whole_ns(v * 0.97)),
            high: value.map(|v| whole_ns(v * 1.05)),
            samples_beyond: beyond,
            uncertainty: None,
        }
    };
    let some = |value: u64| (!histogram.is_empty()).then(|| seconds(value));
    TimeStats {
        count: histogram.count(),
        mean: histogram.mean().map(|ns| ns / 1e9),
        min: some(histogram.min()),
        max: some(histogram.max()),
        max_is_bound: false,
        percentiles: [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999].map(percentile).to_vec(),
        ..TimeStats::default()
    }
}

fn whole_ns(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}

/// `count` values spread evenly from `from_ms` to `to_ms`.
pub(crate) fn even(count: u64, from_ms: u64, to_ms: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..count).for_each(|i| histogram.record(from_ms * MS + (to_ms - from_ms) * MS * i / count.max(1)));
    histogram
}

pub(crate) fn row(kind: SeriesKind, scenario: &str, name: &str, failed: u64, response: &Histogram) -> RequestRow {
    let count = response.count();
    RequestRow {
        key: key(kind, scenario, name),
        count,
        failed,
        rate: count as f64 / 60.0,
        response: times(response),
        service: times(response),
        lag: TimeStats::default(),
        phases: vec![("wait".to_owned(), times(response))],
        outcomes: vec![(Outcome::Passed, count - failed), (Outcome::Status, failed)],
        statuses: vec![(200, count - failed), (500, failed)],
        bytes_sent: count * 100,
        bytes_received: count * 500,
        retried: 0,
        rate_uncertainty: None,
        failed_uncertainty: None,
    }
}

pub(crate) fn check(id: &str, title: &str, grade: Option<Grade>, evidence: &str, advice: &str) -> ValidityCheck {
    ValidityCheck {
        id: id.to_owned(),
        title: title.to_owned(),
        grade,
        evidence: evidence.to_owned(),
        limits: "suspect from 1 %, invalid from 5 %".to_owned(),
        advice: advice.to_owned(),
        levels: Vec::new(),
    }
}

pub(crate) fn validity(grade: Grade) -> Validity {
    let mut checks = vec![
        check("schedule-lag", "Schedule lag", Some(Grade::Valid), "lag p99 was 0.50 ms, 1.3 % of the response time's p99", ""),
        check("steal", "Stolen time", None, "nothing to judge", ""),
    ];
    if grade > Grade::Valid {
        checks.push(check(
            "worker-busy",
            "Worker busy share",
            Some(Grade::Suspect),
            "worker 1 was busy 88 % of its time in the worst 10 s",
            "Use more workers, or a machine with more cores.",
        ));
    }
    if grade == Grade::Invalid {
        checks.push(check(
            "offered-rate",
            "Offered rate",
            Some(Grade::Invalid),
            "912/s of the 1,000/s asked arrived (91.2 %)",
            "The generator could not keep up: use more workers or a lower rate.",
        ));
    }
    Validity { grade, checks }
}

pub(crate) fn threshold(label: &str, state: ThresholdState, measured: Option<f64>, detail: &str) -> ThresholdResult {
    ThresholdResult {
        threshold: Threshold::new(label, Metric::ResponseTime, Aggregate::Quantile(0.99), Comparison::Below, 0.05),
        state,
        measured,
        at_seconds: None,
        failing: false,
        detail: detail.to_owned(),
        reading: detail.to_owned(),
    }
}

/// A good run: two scenarios, thresholds met, nothing found.
pub(crate) fn summary() -> Summary {
    let (create, list, tap) = (even(6000, 10, 60), even(6000, 3, 9), even(500, 1, 4));
    let mut response = create.clone();
    response.merge(&list);
    response.merge(&tap);
    Summary {
        schema: 1,
        source: loadstone_analysis::LoadSource::default(),
        id: "2026-11-20T18-30-05-tickets".to_owned(),
        test: "tickets".to_owned(),
        started: "2026-11-20T18:30:05Z".to_owned(),
        totals: RunTotals {
            duration_seconds: 60.0,
            requests: 12_500,
            request_rate: 208.33,
            iterations: 6500,
            arrivals_due: 6000,
            arrivals_started: 6000,
            users_max: 26,
            bytes_sent: 1_250_000,
            bytes_received: 6_250_000,
            checks_passed: 6000,
            connections_opened: 26,
            ..RunTotals::default()
        },
        response: times(&response),
        requests: vec![
            row(SeriesKind::Request, "Buy a ticket", "List products", 0, &list),
            row(SeriesKind::Request, "Buy a ticket", "Create ticket", 0, &create),
            row(SeriesKind::Request, "Validator", "Tap response", 0, &tap),
        ],
        groups: vec![row(SeriesKind::Group, "Validator", "Tap", 0, &tap)],
        scenarios: vec![
            row(SeriesKind::Iteration, "Buy a ticket", "Buy a ticket", 0, &create),
            row(SeriesKind::Iteration, "Validator", "Validator", 0, &tap),
        ],
        flows: Vec::new(),
        checks: vec![CheckRow { key: key(SeriesKind::Check, "Buy a ticket", "has a ticket id"), passed: 6000, failed: 0 }],
        metrics: Vec::new(),
        spans: Vec::new(),
        profiles: Vec::new(),
        tagged: Vec::new(),
        errors: Vec::new(),
        resources: Vec::new(),
        proofs: Vec::new(),
        signals: Vec::new(),
        changes: Vec::new(),
        verdict: Verdict {
            validity: validity(Grade::Valid),
            thresholds: vec![
                threshold("requests at least 1,000", ThresholdState::Passed, Some(12_500.0), "12,500, bound 1,000"),
                threshold(
                    "response time p99 below 65 ms",
                    ThresholdState::Passed,
                    Some(0.0594),
                    "p99 was 59.4 ms (95 % interval 57.6–62.4 ms), bound 65 ms",
                ),
            ],
            findings: Findings {
                findings: Vec::new(),
                remark: Remark::new(RemarkKind::NoLimit, "Nothing limits the system at this load.".to_owned()),
            },
        },
    }
}

/// A flow that drained after the load, with a stage.
pub(crate) fn flow() -> FlowRow {
    let time = even(1204, 40, 900);
    FlowRow {
        name: "Time to send".to_owned(),
        started: 1210,
        finished: 1204,
        timed_out: 6,
        duplicates: 2,
        start_rate: 20.2,
        finish_rate: 15.1,
        time: times(&time),
        stages: vec![FlowStageRow {
            name: "picked".to_owned(),
            reached: 1206,
            backlog_max: 12,
            time: times(&time),
            ..FlowStageRow::default()
        }],
        backlog_max: 312,
        backlog_max_at_seconds: 60.0,
        oldest_max: 21.4,
        oldest_max_at_seconds: 74.0,
        overtaken: 301,
        overtaken_share: 0.25,
        overtaken_worst: Some(4.2),
        drain: Some(FlowDrain { load_end_seconds: 60.0, open: 310, seconds: Some(19.7), left: 0 }),
        ..FlowRow::default()
    }
}

/// The use of each resource.
fn resources() -> Vec<ResourceRow> {
    let resource = |kind, name: &str, unit: &str, limit, low, high| ResourceRow {
        kind,
        name: name.to_owned(),
        unit: unit.to_owned(),
        limit,
        low,
        high,
    };
    let of = |used, utilisation, waiting| Some(ResourceUse { used: Some(used), utilisation, waiting, errors: None });
    vec![
        resource(ResourceKind::Load, "requests in flight", "requests", None, of(1.2, None, None), of(26.0, None, None)),
        resource(ResourceKind::Process, "process:8080", "cores", Some(2.0), of(0.1, Some(0.05), Some(0.0)), of(0.6, Some(0.3), Some(0.02))),
        resource(ResourceKind::Pool, "tickets", "", Some(8.0), of(0.9, Some(0.11), Some(0.0)), of(8.0, Some(1.0), Some(17.5))),
        resource(ResourceKind::Machine, "the machine", "", None, None, None),
    ]
}

fn errors() -> Vec<ErrorRow> {
    let error = |outcome, message: &str, count, first_at_seconds| ErrorRow {
        key: key(SeriesKind::Request, "Buy a ticket", "Create ticket"),
        outcome,
        message: message.to_owned(),
        count,
        first_at_seconds,
        trace: None,
        samples: Vec::new(),
    };
    vec![
        ErrorRow { trace: TraceId::new(0x4bf9_2f35_77b3_4da6, 7), ..error(Outcome::Timeout, "no answer within 5s", 4, 31.5) },
        ErrorRow {
            trace: TraceId::new(0x4bf9_2f35_77b3_4da6, 8),
            samples: vec![ErrorSample {
                at_seconds: 3.25,
                status: 503,
                headers: vec![("content-type".to_owned(), "application/json".to_owned()), ("date".to_owned(), "today".to_owned())],
                body: "{\n  \"error\": \"no connection\",\n  \"pool\": { \"size\": 5 }\n}\n".to_owned(),
                body_bytes: 58,
            }],
            ..error(Outcome::Status, "503 Service Unavailable: {\"error\":\"no connection available from the pool\"}", 1200, 3.25)
        },
    ]
}

/// Thresholds failed, requests failed, a limit found.
pub(crate) fn failed_summary() -> Summary {
    let mut summary = summary();
    let create = even(6000, 10, 60);
    summary.requests[1] = row(SeriesKind::Request, "Buy a ticket", "Create ticket", 1204, &create);
    summary.totals.requests_failed = 1204;
    summary.totals.failure_share = 1204.0 / 12_500.0;
    summary.totals.iterations_failed = 1204;
    summary.totals.checks_failed = 12;
    summary.flows = vec![flow()];
    summary.checks[0].failed = 12;
    summary.errors = errors();
    let signal = |name: &str, unit: &str, mean, min, max, max_at_seconds| SignalRow {
        name: name.to_owned(),
        unit: unit.to_owned(),
        mean,
        min,
        max,
        max_at_seconds,
    };
    summary.signals = vec![
        signal("postgres/sessions{wait=Lock:tuple}", "sessions", 5.25, 0.0, 8.0, 41.0),
        signal("process:8080/cpu", "share", 0.35, 0.02, 0.61, 22.02),
        signal("process:8080/memory", "bytes", 120_400_000.0, 64_000_000.0, 181_200_000.0, 59.98),
        signal("stub:9099/hold", "s", 0.82, 0.1, 2.0, 3.0),
    ];
    summary.changes = vec![ChangeRow {
        of: ChangedThing::Request,
        scenario: "Tickets".to_owned(),
        group: String::new(),
        name: "Create ticket".to_owned(),
        metric: "service.p50".to_owned(),
        at_seconds: 20.0,
        at_error_seconds: 1.0,
        until_seconds: None,
        before: 0.012,
        after: 0.412,
        samples_before: 2000,
        samples_after: 4000,
    }];
    summary.resources = resources();
    summary.verdict.thresholds[1] = threshold(
        "response time p99 of \"Create ticket\" below 50 ms over 10 s",
        ThresholdState::Failed,
        Some(0.0594),
        "p99 was 59.4 ms (95 % interval 57.6–62.4 ms) in the 10 s from 40 s, bound 50 ms",
    );
    summary.verdict.thresholds.push(threshold("flow time max below 1 s", ThresholdState::NoData, None, "no flow was measured"));
    summary.verdict.findings = Findings {
        findings: vec![Finding {
            rule: RuleId::new("effective-concurrency"),
            subject: Subject::request("Create ticket"),
            quantities: vec![loadstone_analysis::Quantity::count("places", 8.0).within(7.9, 8.1)],
            claim: "Create ticket runs at most 8 at a time: a pool of 8".to_owned(),
            confidence: Confidence::High,
            evidence: vec![
                Evidence::new(
                    "throughput stays at 99–101/s from 20 s on while users grow from 8 to 26".to_owned(),
                    vec!["rate/requests".to_owned(), "users/active".to_owned()],
                    (20.0, 60.0),
                )
                .of_requests(["Create ticket"])
                .level("rate/requests", "stopped at", 100.0, (20.0, 60.0)),
            ],
            next_limit: Some("after it, as far as was observed, the 2 cores of \"shop\" would be the limit, at about 150/s".to_owned()),
            alternatives: vec![Alternative::ruled_out("The CPU", "it was 35 % busy")],
            next: "Look for a pool of 8 (connections, threads) behind POST /v1/tickets/create.".to_owned(),
            page: "effective-concurrency".to_owned(),
        }],
        remark: Remark::default(),
    };
    summary
}

pub(crate) fn empty_summary() -> Summary {
    let mut summary = summary();
    summary.totals = RunTotals { duration_seconds: 2.0, ..RunTotals::default() };
    summary.response = TimeStats::default();
    for rows in [&mut summary.requests, &mut summary.groups, &mut summary.scenarios] {
        rows.clear();
    }
    summary.checks.clear();
    summary.verdict.thresholds = vec![threshold("requests at least 1,000", ThresholdState::NoData, None, "")];
    summary.verdict.validity = Validity { grade: Grade::Valid, checks: Vec::new() };
    summary.verdict.findings = Findings {
        findings: Vec::new(),
        remark: Remark::cannot_tell(MissingKnowledge::TooFewRequests, "nothing was measured", "Run longer."),
    };
    summary
}

/// A custom metric with all fields that any kind has.
pub(crate) fn metric_row() -> MetricRow {
    let percentiles = times(&even(500, 1, 9)).percentiles;
    MetricRow {
        name: "Order value".to_owned(),
        kind: MetricKind::Trend,
        unit: "EUR".to_owned(),
        tags: Tags::new([("country", "DE")]),
        count: 1_200,
        sum: Some(3_400.0),
        rate: Some(56.7),
        hits: Some(600),
        share: Some(0.5),
        last: Some(7.0),
        mean: Some(20.25),
        min: Some(-3.0),
        max: Some(99.0),
        percentiles,
    }
}

pub(crate) fn arc(text: &str) -> Arc<str> {
    text.into()
}
