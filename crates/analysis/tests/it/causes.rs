//! Causes in pipelines with planted faults, and no causes in healthy pipelines. Scored over many seeds: how often the planted cause ranks
//! first with its number, and how often a healthy system has any finding.

use loadstone_analysis::{Findings, conclude};
use loadstone_metrics::Role;
use loadstone_plan::{ClosedStage, LoadProfile, Timing};
use loadstone_run_directory::Run;

use crate::pipeline::{Order, Pipeline, healthy, simulate};
use crate::simulation::Service;
use crate::synthetic::{self, MS, SECOND, Slice, SyntheticSignal, counter, gauge};

const SEEDS: u64 = 12;

fn find(system: &Pipeline, seed: u64) -> Findings {
    conclude(&simulate(system, seed)).verdict.findings
}

fn shown(findings: &Findings) -> String {
    let lines = findings.findings.iter().flat_map(|finding| {
        let evidence = finding.evidence.iter().map(|evidence| format!("    · {}", evidence.text));
        let others = finding.alternatives.iter().map(|other| format!("    or {other}"));
        std::iter::once(format!("  {} ({:?}): {}", finding.rule, finding.confidence, finding.claim))
            .chain(evidence)
            .chain(others)
            .chain(std::iter::once(format!("    → {}", finding.next)))
            .collect::<Vec<_>>()
    });
    format!("{}\n{}", findings.remark.text, lines.collect::<Vec<_>>().join("\n"))
}

/// A system, the rule that must rank first, and the expected part of its claim.
fn planted() -> Vec<(&'static str, Pipeline, &'static str, &'static str)> {
    let poisson = |system: Pipeline| Pipeline { timing: Timing::Poisson, ..system };
    let burst = vec![(50.0, 25), (20.0, 90)];
    vec![
        ("a lock", Pipeline { lock: true, ..healthy() }, "lock", "go out 1 at a time: 19 database sessions"),
        ("a lock, slow calls", Pipeline { lock: true, hold: Service::Fixed(2.0), ..healthy() }, "lock", "go out 1 at a time"),
        ("a pool of 5", Pipeline { pool: 5, ..healthy() }, "connection-pool", "go out 5 at a time, though 20 workers"),
        ("a pool of 5 for 10", Pipeline { pool: 5, senders: 10, ..healthy() }, "connection-pool", "a pool of 5 connections"),
        ("a pool of 5, random arrivals", poisson(Pipeline { pool: 5, ..healthy() }), "connection-pool", "go out 5 at a time"),
        ("10 senders", Pipeline { senders: 10, ..healthy() }, "workers", "go out 10 at a time: all 10 workers are busy"),
        (
            "10 senders, random arrivals",
            poisson(Pipeline { senders: 10, ..healthy() }),
            "workers",
            "go out 10 at a time: all 10 workers are busy",
        ),
        (
            "30 senders, 90 a second",
            Pipeline { senders: 30, load: vec![(90.0, 60)], ..healthy() },
            "workers",
            "go out 30 at a time: all 30 workers are busy",
        ),
        (
            "10 senders, nothing seen of them",
            Pipeline { senders: 10, database: false, ..healthy() },
            "effective-concurrency",
            "go out at most 10 at a time",
        ),
        ("out of order", Pipeline { order: Order::Random, load: burst.clone(), ..healthy() }, "order", "served out of order"),
        ("newest first", Pipeline { order: Order::Newest, load: burst, ..healthy() }, "order", "served out of order"),
        ("one matching thread", Pipeline { matching: (1, 0.06), senders: 60, ..healthy() }, "cpu", "uses one core fully"),
    ]
}

#[test]
fn planted_causes_rank_first_with_their_number() {
    let (mut cases, mut missed) = (0, Vec::new());
    for (name, system, rule, says) in planted() {
        for seed in 0..SEEDS {
            let findings = find(&system, seed);
            cases += 1;
            if !findings.findings.first().is_some_and(|first| first.rule == rule && first.claim.contains(says)) {
                missed.push(format!("{name}, seed {seed}: {}", shown(&findings)));
            }
        }
    }
    assert!(missed.len() * 50 <= cases, "{} of {cases} missed:\n{}", missed.len(), missed.join("\n"));
}

/// Healthy systems, from idle to nearly saturated, and targets that are slow or uneven by themselves.
fn controls() -> Vec<(&'static str, Pipeline)> {
    let many = |hold| Pipeline { senders: 400, hold, ..healthy() };
    let poisson = |system: Pipeline| Pipeline { timing: Timing::Poisson, ..system };
    vec![
        ("20 a second", healthy()),
        ("2 a second", Pipeline { load: vec![(2.0, 60)], ..healthy() }),
        ("24 a second, random", poisson(Pipeline { load: vec![(24.0, 90)], ..healthy() })),
        ("stages", Pipeline { load: vec![(5.0, 30), (15.0, 30), (22.0, 30)], ..healthy() }),
        ("100 a second of a pipeline for 5 times as many", poisson(Pipeline { senders: 100, load: vec![(100.0, 60)], ..healthy() })),
        ("a slow endpoint", many(Service::Fixed(4.0))),
        ("a slow and random endpoint", poisson(many(Service::Exponential(3.0)))),
        ("an endpoint with two delays", poisson(many(Service::Bimodal(0.05, 0.02, 3.0)))),
        ("an endpoint of any delay", poisson(many(Service::LogUniform(0.01, 8.0)))),
        ("a load that rises, an endpoint of any delay", many(Service::LogUniform(0.05, 5.0)).with(vec![(5.0, 30), (60.0, 60)])),
        ("a load that falls, an endpoint of any delay", many(Service::LogUniform(0.05, 5.0)).with(vec![(60.0, 30), (5.0, 60)])),
    ]
}

impl Pipeline {
    fn with(self, load: Vec<(f64, u64)>) -> Self {
        Self { load, ..self }
    }
}

#[test]
fn healthy_systems_are_not_accused() {
    let mut accused = Vec::new();
    for (name, system) in controls() {
        for seed in 0..SEEDS {
            let findings = find(&system, seed);
            if !findings.findings.is_empty() {
                accused.push(format!("{name}, seed {seed}: {}", shown(&findings)));
            }
        }
    }
    assert!(accused.is_empty(), "{} accused:\n{}", accused.len(), accused.join("\n"));
}

#[test]
fn a_burst_that_drains_is_no_lasting_cause() {
    for seed in 0..SEEDS {
        let findings = find(&Pipeline { load: vec![(50.0, 25), (20.0, 90)], ..healthy() }, seed);
        let rules: Vec<&str> = findings.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, ["workers"], "seed {seed}: {}", shown(&findings));
        assert!(findings.findings[0].evidence[1].text.ends_with("and then no longer"), "seed {seed}: {}", shown(&findings));
    }
}

/// A backlog that grows until the end makes the median grow with it. The order violation is detected nevertheless, and only where there is
/// one.
#[test]
fn an_order_violation_is_detected_under_a_lasting_overload() {
    for seed in 0..SEEDS {
        for rate in [40.0, 60.0] {
            let of = |order| find(&Pipeline { order, load: vec![(rate, 60)], ..healthy() }, seed);
            let reported = |findings: &Findings| findings.findings.iter().any(|finding| finding.rule == "order");
            let (random, oldest) = (of(Order::Random), of(Order::Oldest));
            assert!(reported(&random) && !reported(&oldest), "{rate}, seed {seed}: {}\n{}", shown(&random), shown(&oldest));
        }
    }
}

/// Fifteen calls failed, and their journeys took a minute longer. No journey was overtaken unfairly.
#[test]
fn journeys_with_failed_calls_are_reported_as_failed_and_not_as_starved() {
    for failed in [15, 0] {
        let mut run = simulate(&healthy(), 4);
        let slices = run.slices.len();
        for number in 0..15_usize {
            let flow = &mut run.slices[slices / 2 + number % 5].flows[0];
            flow.time.record((60 * SECOND) + number as u64 * 40 * MS);
            flow.overtaken.record(58 * SECOND);
            (flow.started, flow.finished) = (flow.started + 1, flow.finished + 1);
        }
        let faulted = gauge("stub:subscriber", "faulted").role(Role::CallsFaulted);
        faulted.each_second(&mut run, |second| if second < failed { 1.0 } else { 0.0 });
        let found = conclude(&run).verdict.findings;
        let claims: Vec<&str> = found.findings.iter().map(|finding| finding.claim.as_str()).collect();
        let expected = "15 journeys of \"Time to send\" took 1 min longer: their first call to \"subscriber\" failed and was repeated";
        assert_eq!(claims.contains(&expected), failed > 0, "{}", shown(&found));
        assert!(failed == 0 || found.findings.iter().all(|finding| finding.rule != "order"), "{}", shown(&found));
    }
}

/// The report of each planted cause.
#[test]
fn the_causes_read_well() {
    let text = planted().into_iter().map(|(name, system, ..)| format!("{name}: {}\n", shown(&find(&system, 1)).trim_start()));
    insta::assert_snapshot!(text.collect::<String>());
}

/// The rules work by the roles of signals, so they also apply to other databases and runtimes with other signal names.
#[test]
fn causes_are_found_by_the_roles_of_signals_and_not_by_their_names() {
    let claims = |run: &Run| -> Vec<(String, String)> {
        conclude(run).verdict.findings.findings.into_iter().map(|finding| (finding.rule.to_string(), finding.claim)).collect()
    };
    for (name, system, rule, _) in planted() {
        let mut run = simulate(&system, 2);
        let before = claims(&run);
        for (number, series) in run.signals.iter_mut().enumerate() {
            series.signal.name = format!("{}/{number}", series.signal.observer);
        }
        assert_eq!(claims(&run), before, "{name}");
        // Without roles, only the evidence of the load itself remains.
        run.signals.iter_mut().for_each(|series| series.signal.role = None);
        let blind = claims(&run);
        assert!(blind.iter().all(|(found, _)| ["unstable-queue", "order"].contains(&found.as_str())), "{name}: {blind:?}");
        assert!(rule == "order" || !blind.iter().any(|(found, _)| found == rule), "{name}: {blind:?}");
    }
}

/// Signals with these values while something before the senders delays work, the rule that must rank first, and the expected part of its
/// claim.
struct UsedUp {
    signals: Vec<(SyntheticSignal, f64)>,
    rule: &'static str,
    says: &'static str,
}

fn used_up() -> Vec<UsedUp> {
    let case = |signals: &[(SyntheticSignal, Role, f64)], rule, says| {
        let signals = signals.iter().cloned().map(|(signal, role, value)| (signal.role(role), value)).collect();
        UsedUp { signals, rule, says }
    };
    let session = |wait| gauge("postgres", "sessions").label("wait", wait);
    let (stub, group) = ("stub:subscriber", "cgroup");
    let disk = |metric| counter("host", metric).label("device", "vda").part("vda");
    vec![
        case(
            &[(counter("host", "cpu").label("mode", "idle"), Role::MachineIdle, 0.04)],
            "cpu",
            "The machine's CPU is saturated: 98.0 % of its 2 cores",
        ),
        case(
            &[
                (counter(group, "throttled"), Role::GroupThrottled, 0.3),
                (counter(group, "cpu"), Role::GroupCpu, 0.48),
                (gauge(group, "cpu_limit"), Role::GroupCpuMax, 0.5),
            ],
            "cpu",
            "\"cgroup\" is throttled by its limit of 0.5 cores",
        ),
        case(
            &[(disk("disk_busy"), Role::DiskBusy, 0.99), (disk("disk_waiting"), Role::DiskQueue, 12.0)],
            "disk",
            "The disk vda is saturated: 12 disk requests",
        ),
        case(
            &[
                (gauge("app", "descriptors"), Role::ProcessDescriptors, 1020.0),
                (gauge("app", "descriptors_limit"), Role::ProcessDescriptorsMax, 1024.0),
            ],
            "descriptors",
            "all of its 1024 file descriptors",
        ),
        case(
            &[
                (session("IO:WALSync"), Role::SessionsWaitingForCommit, 4.0),
                (gauge("postgres", "active"), Role::SessionsActive, 5.0),
                (counter("postgres", "commits"), Role::Commits, 210.0),
                (counter("postgres", "observer_commits"), Role::ObserverCommits, 10.0),
            ],
            "commits",
            "10.0 commits for each iteration hold up the work: 4.0 of 5.0 active sessions",
        ),
        case(
            &[(gauge(stub, "rejected"), Role::CallsRejected, 4.0), (gauge(stub, "answered"), Role::CallsAnswered, 12.0)],
            "rate-limit",
            "exceeds its limit of about 12/s",
        ),
        // No resource is seen to be exhausted: only the even pace remains as evidence.
        case(&[], "rate-limit", "leave at an even 16.7/s although work waits"),
        // A wait of the client is no wait of the database.
        case(
            &[(session("Client:ClientRead"), Role::SessionsWaitingIdle, 9.0), (gauge("postgres", "active"), Role::SessionsActive, 9.0)],
            "rate-limit",
            "even 16.7/s",
        ),
    ]
}

/// Something before the senders delays work, and the signals identify it.
#[test]
fn the_exhausted_resource_is_named_while_work_waits() {
    for UsedUp { signals, rule, says } in used_up() {
        let mut run = simulate(&Pipeline { matching: (1, 0.06), senders: 60, ..healthy() }, 3);
        run.signals.retain(|series| !series.signal.name.starts_with("process"));
        signals.iter().for_each(|(signal, value)| signal.clone().each_second(&mut run, |_| *value));
        let findings = conclude(&run).verdict.findings;
        let first = &findings.findings[0];
        assert!(first.rule == rule && first.claim.contains(says), "{says}: {}", shown(&findings));
        if says.contains("throttled") {
            let limit = first.evidence.iter().flat_map(|evidence| &evidence.lines).find(|line| line.label == "limit").expect("the limit");
            assert!(limit.series.ends_with("/cpu") && limit.points.iter().all(|(_, cores)| *cores == 0.5), "{limit:?}");
        }
        if rule == "commits" {
            assert!(
                first.evidence.iter().any(|evidence| evidence.text.starts_with("200 commits per second, 10.0 commits for each")),
                "{}",
                shown(&findings)
            );
        }
        // The same signals in a system without waiting are no finding.
        let mut healthy = simulate(&healthy(), 3);
        signals.iter().filter(|_| rule != "rate-limit").for_each(|(signal, value)| signal.clone().each_second(&mut healthy, |_| *value));
        let findings = conclude(&healthy).verdict.findings;
        assert!(findings.findings.is_empty(), "{says}: {}", shown(&findings));
    }
}

/// Validators that arrive by the hundred every 20 seconds and tap once a second each, for a service with a capacity of 450 validators.
fn sweep(capacity: u64) -> Run {
    let users_at = |second: u32| 100 * (u64::from(second) / 20 + 1);
    // After the load, some requests end whose users are gone.
    let tail = (160..190).map(|second| Slice::new(second).requests("Tap", 20, SECOND).done());
    let slices = (0..160).map(|second| {
        let users = users_at(second);
        let (count, service) = if users <= capacity { (users, MS) } else { (capacity, SECOND * users / capacity) };
        let slice = Slice::new(second).requests("Tap", count, service);
        slice.leaf(|leaf| (leaf.users_asked, leaf.users_active) = (users, users)).done()
    });
    let stages = (1..=8).map(|step| ClosedStage { from: 100 * step, to: 100 * step, duration_ns: 20 * SECOND }).collect();
    synthetic::run_of(synthetic::plan(LoadProfile::Closed { stages }), slices.chain(tail).collect())
}

#[test]
fn a_sweep_over_users_finds_the_saturated_thread() {
    let found = |capacity: u64, waited: f64| {
        let mut run = sweep(capacity);
        let load = |second: u64| if second < 160 { (100.0 * (second / 20 + 1) as f64 / 450.0).min(1.0) } else { 0.05 };
        // On a busy machine a thread waits for its core, sometimes longer.
        let cpu = counter("process:node", "cpu").role(Role::ProcessCpu);
        cpu.each_second(&mut run, |second| load(second) * (0.93 - 0.02 * (second % 3) as f64));
        let delay = counter("process:node", "run_delay").role(Role::ProcessRunDelay);
        delay.each_second(&mut run, |second| load(second) * waited * (1.0 + 0.1 * (second % 3) as f64));
        gauge("process:node", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 11.0);
        conclude(&run).verdict.findings
    };
    let one_thread = found(450, 0.12);
    let first = &one_thread.findings[0];
    assert!(first.rule == "cpu" && first.claim.starts_with("\"process:node\" uses one core fully"), "{}", shown(&one_thread));
    assert_eq!(
        first.evidence[0].text,
        "from 1 min 20 s on, when 500 users were active, requests took 1.44 s on average instead of 1.00 ms",
        "{}",
        shown(&one_thread)
    );
    assert!(one_thread.findings.iter().all(|finding| finding.rule != "effective-concurrency"), "half a place: {}", shown(&one_thread));
    // Eleven threads that share the rest of a busy machine, and the same readings without any waiting.
    for (capacity, waited) in [(450, 2.0), (900, 0.12)] {
        let found = found(capacity, waited);
        assert!(found.findings.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
    }
}

/// Requests that take 50 ms for half a minute, then half a second.
fn slower_after_30_s() -> Run {
    let slices = (0..70).map(|second| {
        let service = if second < 30 { 50 * MS } else { 500 * MS } + u64::from(second % 7) * MS;
        Slice::new(second).arrivals(40).requests("Pay", 40, service).done()
    });
    synthetic::run_of(synthetic::plan(synthetic::open(40.0, 70)), slices.collect())
}

#[test]
fn a_dependency_that_becomes_slower_is_named_only_if_it_did() {
    let with_hold = |slow: f64| {
        let mut run = slower_after_30_s();
        for (metric, role, value) in
            [("calls", Role::Calls, 40.0), ("in_flight", Role::CallsInFlight, 3.0), ("in_flight_max", Role::CallsInFlightMax, 9.0)]
        {
            gauge("stub:ledger", metric).role(role).each_second(&mut run, |second| value + (second % 3) as f64);
        }
        let hold = gauge("stub:ledger", "hold").role(Role::CallHold);
        hold.each_second(&mut run, |second| if second < 30 { 0.04 } else { slow });
        conclude(&run).verdict.findings
    };
    let found = with_hold(0.49);
    assert!(found.findings[0].claim.starts_with("Calls to \"ledger\" slowed down from 40.0 ms to 490 ms"), "{}", shown(&found));
    for unchanged in [0.04, 0.05] {
        let found = with_hold(unchanged);
        let claims: Vec<&str> = found.findings.iter().map(|finding| finding.claim.as_str()).collect();
        assert_eq!(claims, ["\"Pay\" went from 53.0 ms to 503 ms at 0:30 while the load was constant (40/s)"], "{}", shown(&found));
    }
}

/// Busy workers also finish at an even pace. They are ruled out only if the number of concurrent calls was seen to vary.
#[test]
fn an_even_pace_examines_the_workers_before_it_rules_them_out() {
    let with_most = |most: &dyn Fn(u64) -> f64| {
        let mut run = simulate(&Pipeline { matching: (1, 0.06), senders: 60, ..healthy() }, 3);
        run.signals.retain(|series| !series.signal.name.starts_with("process"));
        gauge("stub:subscriber", "in_flight_max").role(Role::CallsInFlightMax).each_second(&mut run, most);
        // On average few workers are in calls, so they are no ceiling.
        gauge("stub:subscriber", "in_flight").role(Role::CallsInFlight).each_second(&mut run, |second| 2.0 + (second % 2) as f64);
        conclude(&run).verdict.findings
    };
    for (found, says) in [
        (
            with_most(&|second| 6.0 + (second % 5) as f64),
            "Workers that are all busy with calls. Ruled out: the maximum of calls at once was",
        ),
        (with_most(&|_| 20.0), "Workers that are all busy with calls. Not ruled out: the maximum of calls at once was 20 in 100 %"),
    ] {
        let even =
            found.findings.iter().find(|finding| finding.claim.contains("leave at an even")).unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(even.alternatives.iter().any(|other| other.text.starts_with(says)), "{}", shown(&found));
    }
}

#[test]
fn responses_with_429_are_a_rate_limit() {
    let mut run = slower_after_30_s();
    for slice in &mut run.slices {
        let series = &mut slice.series[0];
        series.statuses = vec![(201, 30), (429, 10)];
    }
    let findings = conclude(&run).verdict.findings;
    assert_eq!(findings.findings[0].claim, "\"Pay\" is limited to about 30/s: 25.0 % of its requests were rejected with 429");
}

#[test]
fn a_single_429_is_no_rate_limit() {
    let of = |statuses: &dyn Fn(usize) -> Vec<(u16, u64)>| {
        let mut run = slower_after_30_s();
        for (second, slice) in run.slices.iter_mut().enumerate() {
            slice.series[0].statuses = statuses(second);
        }
        let findings = conclude(&run).verdict.findings.findings;
        findings.into_iter().find(|finding| finding.rule == "rate-limit")
    };
    // In one request in a hundred, but only once.
    let once = of(&|second| if second == 40 { vec![(429, 1)] } else { vec![(201, 1)] });
    assert!(once.is_none(), "{once:?}");
    // A target that rejects everything has no known limit.
    let all = of(&|_| vec![(429, 40)]).unwrap();
    assert!(!all.claim.contains("limited to") && all.claim.contains("100 % of its requests were rejected with 429"), "{}", all.claim);
}

/// Thirty callers with turns of 0.4 s each make 2 or 3 calls per second, and 5 in two seconds: an even pace, although consecutive seconds
/// differ. Calls with the same variation in random order are not even.
#[test]
fn a_pace_is_even_even_if_turns_do_not_fit_into_a_second() {
    let in_turn = |second: u64| if second.is_multiple_of(2) { 4.0 } else { -4.0 };
    let in_no_order = |second: u64| 1.5 * (((second * 2_654_435_761) >> 9) % 9) as f64 - 6.0;
    for (beyond, is_even) in [(&in_turn as &dyn Fn(u64) -> f64, true), (&in_no_order, false)] {
        let mut run = simulate(&Pipeline { matching: (1, 0.06), senders: 60, ..healthy() }, 3);
        run.signals.retain(|series| !series.signal.name.starts_with("process"));
        gauge("stub:subscriber", "calls").role(Role::Calls).each_second(&mut run, |second| 16.7 + beyond(second));
        let found = conclude(&run).verdict.findings;
        assert_eq!(found.findings.iter().any(|finding| finding.claim.contains("leave at an even 16.7/s")), is_even, "{}", shown(&found));
    }
}
