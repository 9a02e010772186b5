//! Pools without metrics: the database counts the connections, and the kernel counts those that wait to be accepted.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::Role;
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::simulation::{Hop, Service, Step, Target, UNLIMITED, simulate, users};
use crate::synthetic::{self, SECOND, Slice, counter, gauge};

fn held(found: &[Finding]) -> Option<&Finding> {
    found.iter().find(|finding| finding.rule == "held-connections")
}

/// Rails on Puma with a pool of one connection: from the first second on, eight of an increasing number of requests end, and each waits longer.
fn puma(connections: impl Fn(u64) -> f64) -> Run {
    let slice = |second: u32| {
        let asked = 4 + u64::from(second) / 5;
        let behind = u64::from(second) * u64::from(second) / 60;
        Slice::new(second).leaf(|leaf| (leaf.arrivals_due, leaf.started, leaf.ended) = (asked, asked, 8)).requests(
            "Issues",
            8,
            (800 + behind * 125) * 1_000_000,
        )
    };
    let stage = OpenStage::Rate { from: 4.0, to: 16.0, duration_ns: 60 * SECOND, timing: Timing::Even };
    let mut run =
        synthetic::run_of(synthetic::plan(LoadProfile::Open { stages: vec![stage] }), (0..60).map(|second| slice(second).done()).collect());
    gauge("postgres", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, connections);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    counter("process:3000", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.4);
    gauge("process:3000", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| 0.2);
    gauge("process:3000", "accept_queue")
        .role(Role::AcceptQueue)
        .each_second(&mut run, |second| if second < 15 { 0.0 } else { (second - 15) as f64 * 0.75 });
    run
}

#[test]
fn exactly_one_connection_throughout_is_a_limit() {
    let found = findings(&puma(|_| 1.0));
    let first = held(&found).unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(
        first.claim.starts_with("Requests wait while the system has exactly 1 connection to \"postgres\" throughout"),
        "{}",
        shown(&found)
    );
    assert!(
        first.evidence.iter().any(|evidence| evidence.text.starts_with("connections that waited to be accepted rose from")),
        "{}",
        shown(&found)
    );
    assert!(first.confidence <= Confidence::Medium, "{}", shown(&found));
    // A pool that still grows, or that has more connections than requests wait for, is no limit.
    for connections in [|second: u64| 1.0 + (second / 8) as f64, |_: u64| 90.0] {
        let found = findings(&puma(connections));
        assert!(held(&found).is_none(), "{}", shown(&found));
    }
}

/// The calls that wait for an answer show that the connection is in use, also if the database hardly works on them: they are on their way.
#[test]
fn connections_that_wait_for_an_answer_are_in_use() {
    let awaited = |calls: f64| {
        let mut run = puma(|_| 1.0);
        let line = gauge("process:3000", "awaited").role(Role::CallsAwaited).part("127.0.0.1:5432").label("peer", "127.0.0.1:5432");
        line.each_second(&mut run, |_| calls);
        let found = findings(&run);
        (held(&found).unwrap_or_else(|| panic!("{}", shown(&found))).clone(), shown(&found))
    };
    let in_use = "0.9 calls to 127.0.0.1:5432, which may lead to it, waited for an answer on average";
    let (first, all) = awaited(0.9);
    assert!(first.confidence == Confidence::Medium, "{all}");
    assert!(first.evidence.iter().any(|evidence| evidence.text == in_use), "{all}");
    let rules_out = |first: &Finding| first.alternatives[0].text.ends_with(&format!("Ruled out: {in_use}."));
    assert!(rules_out(&first), "{all}");
    let (first, all) = awaited(0.2);
    assert!(!rules_out(&first) && first.evidence.iter().all(|evidence| !evidence.text.contains("waited for an answer")), "{all}");
}

/// As many round trips as with more connections: they are why each connection is held for long, and not why requests wait.
#[test]
fn connections_that_are_in_use_precede_the_round_trips_that_use_them() {
    let first = |calls: f64| {
        let mut run = puma(|_| 1.0);
        counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| 8.0 * 27.0);
        let line = gauge("process:3000", "awaited").role(Role::CallsAwaited).part("127.0.0.1:5432").label("peer", "127.0.0.1:5432");
        line.each_second(&mut run, |_| calls);
        let found = findings(&run);
        let trips = found.iter().find(|finding| finding.rule == "many-transactions").unwrap_or_else(|| panic!("{}", shown(&found)));
        let names_pool =
            trips.alternatives.iter().any(|other| other.text.starts_with("Too few connections to \"postgres\": 1. Not ruled out"));
        (found[0].rule.clone(), names_pool, shown(&found))
    };
    let (rule, names_pool, all) = first(0.9);
    assert!(rule == "held-connections" && names_pool, "{all}");
    // Answers are awaited for 1 % of the time: neither the connection nor the round trips are shown to be in use for long, and the latter are certainly not.
    let (rule, names_pool, all) = first(0.2);
    assert!(rule == "held-connections" && !names_pool, "{all}");
}

#[test]
fn a_constant_number_of_connections_behind_another_limit_is_not_reported() {
    let fluid = System { capacity: 20.0, base: 0.2, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
    let mut run = fluid.run.clone();
    gauge("postgres", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, |_| 10.0);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    let cpu = |second: u64| fluid.ended[second as usize] / 20.0;
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, cpu);
    gauge("process:80", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, cpu);
    let found = findings(&run);
    assert!(found[0].rule == "cpu" && held(&found).is_none(), "{}", shown(&found));
}

/// What a database counts.
#[derive(Clone, Copy)]
struct Database {
    connections: f64,
    /// Per second.
    statements: f64,
    /// In progress, mean.
    in_progress: f64,
}

/// 20 users all along, of whose requests so many are in the system at any time, at 12 per second.
fn users_of(in_system: u64, database: Database, cores: f64) -> Run {
    let slice = |second: u32| {
        Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.started, leaf.ended) = (20, 20, 12, 12)).requests(
            "Posts",
            12,
            in_system * 1_000_000_000 / 12,
        )
    };
    let mut run = synthetic::run_of(synthetic::plan(synthetic::closed(20, 40)), (0..40).map(|second| slice(second).done()).collect());
    gauge("mysql", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, |_| database.connections);
    let statements = |metric| counter("mysql", metric).label("statement", "select ?");
    statements("statement_calls").role(Role::StatementCalls).each_second(&mut run, |_| database.statements);
    statements("statement_seconds").role(Role::StatementTime).each_second(&mut run, |_| database.in_progress);
    counter("process:2368", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| cores);
    gauge("process:2368", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| cores);
    run
}

#[test]
fn one_connection_of_constant_users_is_a_limit_if_more_would_have_been_opened() {
    let busy = Database { connections: 1.0, statements: 110.0, in_progress: 0.04 };
    let found = findings(&users_of(18, busy, 0.3));
    let first = held(&found).unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(
        first.claim.starts_with("18 requests are in the system at any time while the system has exactly 1 connection"),
        "{}",
        first.claim
    );
    assert!(first.confidence == Confidence::Low && found[0].rule == "held-connections", "{}", shown(&found));
    let shows = |text: &str| first.evidence.iter().any(|evidence| evidence.text.contains(text));
    // 110/s · 40 s · (1 − e^−0.04).
    assert!(shows("about 173 would have begun"), "{}", shown(&found));
}

#[test]
fn connections_of_constant_users_are_no_limit_where_no_more_were_needed() {
    let busy = Database { connections: 1.0, statements: 110.0, in_progress: 0.04 };
    let rare = Database { statements: 3.0, in_progress: 0.002, ..busy };
    let filled_at_start = Database { connections: 8.0, ..busy };
    for (in_system, database, cores) in [(18, rare, 0.3), (18, filled_at_start, 0.3), (4, busy, 0.3), (18, busy, 0.99)] {
        let found = findings(&users_of(in_system, database, cores));
        assert!(held(&found).is_none(), "{}", shown(&found));
    }
}

/// One worker has one connection.
#[test]
fn a_full_accept_queue_shows_busy_workers_and_not_the_connections_that_they_have() {
    let busy = Database { connections: 1.0, statements: 110.0, in_progress: 0.04 };
    let mut run = users_of(18, busy, 0.3);
    gauge("process:2368", "accept_queue").role(Role::AcceptQueue).each_second(&mut run, |_| 16.0);
    let found = findings(&run);
    assert!(found[0].rule == "accept-queue" && held(&found).is_none(), "{}", shown(&found));
}

/// A ramp of users on a service that holds its connections for a part of each request only, and otherwise spends time next to them.
fn held_for_a_part(seed: u64, places: usize, connections: f64) -> Vec<Finding> {
    held_for((Service::Fixed(0.02), Service::LogUniform(0.035, 0.045), Service::Fixed(0.03)), seed, places, connections)
}

/// The same with the times before, in and after that part.
fn held_for((before, part, after): (Service, Service, Service), seed: u64, places: usize, connections: f64) -> Vec<Finding> {
    let hops = vec![Hop::Pass(before), Hop::Take(0), Hop::Pass(part), Hop::Give(0), Hop::Pass(after)];
    let pause = Some(Service::LogUniform(0.05, 0.25));
    let steps = ["Get last", "Set last"].map(|name| Step { name, hops: hops.clone(), share: 0.0, chance: 1.0, pause }).to_vec();
    let mut run = simulate(&Target { slots: vec![places, UNLIMITED], steps }, users(1, 40, 60), seed);
    gauge("postgres", "connections_total").role(Role::ConnectionsOpen).each_second(&mut run, |_| connections);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.05);
    counter("process:5280", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.05);
    gauge("process:5280", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| 0.03);
    findings(&run)
}

/// The number of requests at a time is the symptom, and becomes evidence.
#[test]
fn a_constant_number_of_connections_ranks_before_the_number_of_requests_at_a_time() {
    for seed in 0..4 {
        let found = held_for_a_part(seed, 1, 1.0);
        assert!(found[0].rule == "held-connections" && found[0].confidence == Confidence::Medium, "{}", shown(&found));
        assert!(found.iter().all(|one| one.rule != "effective-concurrency"), "{}", shown(&found));
        assert!(found[0].evidence.iter().any(|evidence| evidence.text.contains("throughput stopped at")), "{}", shown(&found));
    }
}

/// More connections than requests are served at a time explain nothing.
#[test]
fn connections_that_the_plateau_does_not_allow_are_no_cause_of_it() {
    for seed in 0..4 {
        let found = held_for_a_part(seed, 1, 8.0);
        assert!(found[0].rule == "effective-concurrency", "{}", shown(&found));
    }
}

/// Each request holds the only connection for 27 of 44 ms, so that 1.6 are served at a time, at an even pace.
#[test]
fn a_constant_number_of_connections_explains_a_rate() {
    let times = || (Service::Fixed(0.01), Service::Fixed(0.027), Service::Fixed(0.007));
    for seed in 0..4 {
        let found = held_for(times(), seed, 1, 1.0);
        assert!(found[0].rule == "held-connections", "{}", shown(&found));
        assert!(found.iter().all(|one| one.rule != "rate-limit"), "{}", shown(&found));
        assert!(found[0].evidence.iter().any(|evidence| evidence.text.contains("throughput stopped at")), "{}", shown(&found));
        // Several connections would let more through.
        let found = held_for(times(), seed, 1, 4.0);
        assert!(found[0].rule == "rate-limit", "{}", shown(&found));
    }
}
