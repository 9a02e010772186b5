//! Waits whose cause is not the obvious one: connections that are not established, a rate limiter instead of a pool, an expiring cache.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{LeafSlice, Role};
use loadstone_plan::{Load, LoadProfile, ScenarioId, ScenarioRun, TestPlan};
use loadstone_run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::fluid::{self, System};
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge};

fn has(found: &[Finding], rule: &str) -> bool {
    found.iter().any(|finding| finding.rule == rule)
}

/// From second 20 on, requests take a second more: to connect, or to get a response.
fn waiting(connect: u64, sent_again: u64) -> Run {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(20);
        for n in 0..20 {
            let usual = (5 + n % 3) * MS;
            let (connect, service) = if second < 20 { (MS / 5, usual) } else { (connect, SECOND + 10 * MS + usual) };
            slice = slice.request_connecting("List", connect, service);
        }
        slice.generator(|worker| worker.syn_retransmits = if second < 20 { 0 } else { sent_again }).done()
    };
    synthetic::run_of(synthetic::plan(synthetic::open(20.0, 60)), (0..60).map(slice).collect())
}

#[test]
fn requests_that_wait_to_connect_are_reported_with_the_cause() {
    let found = findings(&waiting(SECOND, 25));
    let connect = &found[0];
    assert!(connect.rule == "slow-connect" && connect.confidence == Confidence::High, "{}", shown(&found));
    let claim = "Requests wait for a connection: connecting took 1.00 s on average instead of 200 µs, and SYNs were lost";
    assert!(connect.claim.starts_with(claim) && connect.claim.contains("listen queue overflows"), "{}", connect.claim);
    assert!(!shown(&found).contains("at a time"), "{}", shown(&found));
    // Slow connections without any retransmission.
    let found = findings(&waiting(900 * MS, 0));
    assert!(found[0].rule == "slow-connect" && found[0].confidence == Confidence::Medium, "{}", shown(&found));
    assert!(!found[0].claim.contains("SYN"), "{}", found[0].claim);
}

#[test]
fn requests_that_wait_for_their_response_do_not_wait_for_a_connection() {
    // The machine also retransmits SYNs of other programs.
    for connect in [MS / 5, 400 * MS] {
        let found = findings(&waiting(connect, 25));
        assert!(!has(&found, "slow-connect"), "{}", shown(&found));
    }
}

/// Users that list and buy in turn, with 20 ms and 5 ms; `visits` pass each second.
fn turns(visits: impl Fn(u32) -> u64) -> Run {
    let slice = |second: u32| {
        let users = u64::from(second) / 4 + 1;
        let done = visits(second).min(users * 40);
        let wait = (users * SECOND / done).saturating_sub(25 * MS) / 2;
        let slice = Slice::new(second).requests("List", done, 20 * MS + wait).requests("Buy", done, 5 * MS + wait);
        slice.leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.ended) = (users, users, done)).done()
    };
    let profile = LoadProfile::Closed { stages: vec![loadstone_plan::ClosedStage { from: 1, to: 15, duration_ns: 60 * SECOND }] };
    let mut run = synthetic::run_of(synthetic::plan(profile), (0..60).map(slice).collect());
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.2);
    run
}

#[test]
fn an_even_pace_independent_of_the_times_is_a_rate_limit_or_a_pool() {
    let found = findings(&turns(|_| 80));
    let first = &found[0];
    let claim = "are together let through at an even 160/s, or served about 2";
    assert!(first.claim.contains(claim) && first.claim.contains(": a rate limit that delays, or a pool"), "{}", shown(&found));
    assert_eq!(first.confidence, Confidence::Medium);
    // The output of a pool depends on the times of its requests.
    let found = findings(&turns(|second| 74 + u64::from(second * 7 % 13)));
    assert!(found[0].claim.contains("are together served about") && found[0].claim.contains(": a pool"), "{}", shown(&found));
}

/// "List" is slow in two of five `slow` seconds, "Item" never.
fn expiring(slow: &dyn Fn(u32) -> bool, seed: u64) -> Vec<Finding> {
    let list = |second: u32, draws: &mut Draws| 0.005 * noise(0.3, draws) + if slow(second) && draws.uniform() < 0.4 { 1.5 } else { 0.0 };
    let item = |_: u32, draws: &mut Draws| 0.008 * noise(0.3, draws);
    let requests = [Request { name: "List", time: &list, outcome: &passes }, Request { name: "Item", time: &item, outcome: &passes }];
    findings(&constant(42, 16, &requests, seed))
}

#[test]
fn a_periodically_expiring_cache_is_reported_with_its_period_even_if_it_fills_slowly() {
    for seed in 0..10 {
        let found = expiring(&|second| second % 7 < 3, seed);
        let stall = found.iter().find(|finding| finding.rule == "periodic-stall").unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(stall.claim.starts_with("Every 7.00 s \"List\" takes up to 1.5"), "{}", stall.claim);
        assert!(stall.claim.contains("something that only these requests need stalls"), "{}", stall.claim);
        // For the same share of the time, but irregularly.
        let uneven = expiring(&|second| [0, 1, 2, 3, 4, 5, 9, 10, 11, 16, 17, 18, 19, 31, 32, 33, 35, 36].contains(&second), seed);
        assert!(!has(&uneven, "periodic-stall") && !has(&uneven, "stall"), "{}", shown(&uneven));
    }
}

#[test]
fn the_load_reported_with_a_change_is_that_of_its_scenario() {
    let pay = |second: u32, draws: &mut Draws| 0.010 * noise(0.2, draws) + if second >= 30 { 0.3 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Pay", time: &pay, outcome: &passes }], 2);
    let part = |scenario, rate| Load::Run(ScenarioRun::new(ScenarioId(scenario), synthetic::open(rate, 60)));
    run.plan = TestPlan::new("shop", ["Buy", "Browse"], Load::Parallel(vec![part(0, 30.0), part(1, 6.0)]));
    for slice in &mut run.slices {
        slice.leaves.push(LeafSlice { leaf: 1, arrivals_due: 6, started: 6, ended: 6, ..LeafSlice::default() });
    }
    let found = findings(&run);
    assert!(found[0].claim.ends_with("while the load was constant (30/s)"), "{}", shown(&found));
}

/// Three places, each held for 100 ms, with users that pause for 200 ms: they are full with nine users. The load starts with `first` users.
fn three_places(first: u64) -> Run {
    let slice = |second: u32| {
        let users = first + u64::from(second);
        let done = (users as f64 / 0.3).min(30.0) as u64;
        let time = (users as f64 / done as f64 - 0.2).max(0.1);
        // No request waits for long, but some wait briefly.
        let slice = Slice::new(second).requests("Buy", done, (time * 1e9) as u64 + u64::from(second % 3) * MS);
        slice.leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.ended) = (users, users, done)).done()
    };
    let profile =
        LoadProfile::Closed { stages: vec![loadstone_plan::ClosedStage { from: first, to: first + 40, duration_ns: 40 * SECOND }] };
    synthetic::run_of(synthetic::plan(profile), (0..40).map(slice).collect())
}

#[test]
fn places_are_counted_if_closed_load_begins_close_to_their_limit() {
    let found = findings(&three_places(4));
    assert!(found[0].claim.contains("served about 3 at a time"), "{}", shown(&found));
    // If it begins beyond the limit, the time of a single request is unknown.
    let found = findings(&three_places(12));
    assert!(found.iter().all(|finding| !finding.claim.contains("about 3 at a time")), "{}", shown(&found));
}

/// A ramp beyond the capacity of a lock, with the sessions that wait for it by second, and the throughput.
fn waiting_sessions(sessions: impl Fn(u64, f64) -> f64) -> Vec<Finding> {
    waiting_sessions_of(fluid::Load::Ramp(1.0, 40.0, 60), sessions)
}

fn waiting_sessions_of(load: fluid::Load, sessions: impl Fn(u64, f64) -> f64) -> Vec<Finding> {
    let system = System { capacity: 20.0, base: 0.05, is_shared: false };
    let fluid = system.under(load);
    let mut run = fluid.run.clone();
    let waiting = |second: u64| sessions(second, fluid.open[second as usize]);
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| waiting(second) + 0.2);
    gauge("postgres", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:tuple").each_second(&mut run, waiting);
    findings(&run)
}

#[test]
fn a_wait_that_begins_early_on_a_ramp_is_caused_by_the_load() {
    let found = waiting_sessions(|second, open| if second < 10 { 0.0 } else { open.clamp(1.2, 18.0) });
    assert!(found[0].rule == "database-waits" && found[0].claim.contains("Lock:tuple"), "{}", shown(&found));
    // The same number waited before, at low load: other work is the cause.
    let found = waiting_sessions(|_, _| 12.0);
    assert!(found.iter().all(|finding| finding.rule != "database-waits"), "{}", shown(&found));
}

#[test]
fn a_wait_in_the_last_seconds_is_reported_if_it_explains_the_additional_time() {
    // Beyond the limit for three of 24 seconds.
    let load = fluid::Load::Ramp(1.0, 23.0, 24);
    let in_line = |open: f64| (open - 1.0).max(0.0);
    let found = waiting_sessions_of(load, |_, open| in_line(open));
    assert!(found.first().is_some_and(|first| first.rule == "database-waits"), "{}", shown(&found));
    assert!(found[0].claim.contains("wait for Lock:tuple"), "{}", shown(&found));
    // Far fewer than the waiting requests, or far more.
    for times in [0.25, 4.0] {
        let found = waiting_sessions_of(load, |_, open| times * in_line(open));
        assert!(found.iter().all(|finding| !finding.claim.contains("holding up")), "{times}: {}", shown(&found));
    }
    // The same number throughout: sessions that follow throughput do not belong to the queue.
    let found = waiting_sessions_of(load, |second, _| 2.0 * (second as f64 + 1.0) / 24.0);
    assert!(found.iter().all(|finding| !finding.claim.contains("holding up")), "{}", shown(&found));
}

#[test]
fn a_constant_load_beyond_the_limit_is_found_by_its_throughput() {
    let system = System { capacity: 11.6, base: 0.08, is_shared: false };
    let found = findings(&system.under(fluid::Load::Ramp(14.0, 14.0, 40)).run);
    let limit = found.iter().find(|finding| finding.rule == "throughput-limit").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(limit.claim.starts_with("14/s iterations arrive and 11.6/s end: more than the system serves"), "{}", limit.claim);
    assert!(limit.next.contains("Ramp to this load from a low one"), "{}", limit.next);
    // Increasingly slow, but all requests are served.
    let slower = |second: u32, draws: &mut Draws| (0.02 + 0.004 * f64::from(second)) * noise(0.1, draws);
    let found = findings(&constant(40, 20, &[Request { name: "Add", time: &slower, outcome: &passes }], 3));
    assert!(found[0].rule == "change" && !found[0].claim.contains("the backlog grows"), "{}", shown(&found));
}

#[test]
fn a_periodically_slow_request_is_reported_even_if_another_is_always_slow() {
    // A list that is rebuilt for two of nine seconds, and a payment that always takes that long.
    let run = |period: u32, seed: u64| {
        let list = |second: u32, draws: &mut Draws| {
            0.001 * noise(0.3, draws) + if second % period < 2 && draws.uniform() < 0.4 { 0.06 } else { 0.0 }
        };
        let pay = |_: u32, draws: &mut Draws| 0.04 * noise(0.2, draws);
        let requests = [Request { name: "List", time: &list, outcome: &passes }, Request { name: "Pay", time: &pay, outcome: &passes }];
        findings(&constant(46, 20, &requests, seed))
    };
    for seed in 0..10 {
        let found = run(9, seed);
        let stall = found.iter().find(|finding| finding.rule == "periodic-stall").unwrap_or_else(|| panic!("{}", shown(&found)));
        assert!(stall.claim.starts_with("Every 9.00 s \"List\" takes up to 6"), "{}", stall.claim);
        assert!(stall.evidence.iter().any(|evidence| evidence.text == "\"Pay\" did not stall"), "{}", shown(&found));
        // Equally often at random times.
        let list = |_: u32, draws: &mut Draws| 0.001 * noise(0.3, draws) + if draws.uniform() < 0.02 { 0.06 } else { 0.0 };
        let pay = |_: u32, draws: &mut Draws| 0.04 * noise(0.2, draws);
        let requests = [Request { name: "List", time: &list, outcome: &passes }, Request { name: "Pay", time: &pay, outcome: &passes }];
        let found = findings(&constant(46, 20, &requests, seed));
        assert!(!has(&found, "periodic-stall") && !has(&found, "stall"), "{}", shown(&found));
    }
}

#[test]
fn a_backlog_belongs_to_its_scenario() {
    // A scenario that becomes slower and is served, in parallel with a scenario of which half is not served.
    let slower = |second: u32, draws: &mut Draws| (0.02 + 0.004 * f64::from(second)) * noise(0.1, draws);
    let mut run = constant(40, 20, &[Request { name: "Add", time: &slower, outcome: &passes }], 3);
    let part = |scenario, rate| Load::Run(ScenarioRun::new(ScenarioId(scenario), synthetic::open(rate, 40)));
    run.plan = TestPlan::new("shop", ["Buy", "Browse"], Load::Parallel(vec![part(0, 20.0), part(1, 40.0)]));
    for slice in &mut run.slices {
        slice.leaves.push(LeafSlice { leaf: 1, arrivals_due: 40, started: 40, ended: 20, ..LeafSlice::default() });
    }
    let found = findings(&run);
    let change = found.iter().find(|finding| finding.rule == "change").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(change.claim.starts_with("\"Add\" grew steadily") && !shown(&found).contains("piles up"), "{}", shown(&found));
    assert!(!shown(&found).contains("work piled up"), "{}", shown(&found));
}
