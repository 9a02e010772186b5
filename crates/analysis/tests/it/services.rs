//! Findings on a service that is fast, or short of connections: evidence from its memory, its pool and the times of its requests.

use loadstone_analysis::{Finding, conclude};
use loadstone_metrics::{Outcome, Role};
use loadstone_run_directory::Run;

use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge, open, plan};

const SECONDS: u32 = 60;

fn findings(run: &Run) -> Vec<Finding> {
    conclude(run).verdict.findings.findings
}

/// A run of a minute at 100 requests per second, with `connections` open at the end of each second.
fn minute(service: impl Fn(u64) -> u64, connections: impl Fn(u32) -> u64) -> Run {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(100);
        for n in 0..100 {
            slice = slice.request("Tap", 0, service(u64::from(second) * 100 + n), Outcome::Passed);
        }
        slice.generator(|worker| worker.connections = connections(second)).done()
    };
    synthetic::run_of(plan(open(100.0, u64::from(SECONDS))), (0..SECONDS).map(slice).collect())
}

/// Times between 1 and 3 ms without a pattern.
fn usual(n: u64) -> u64 {
    MS + n * 7919 % 2000 * MS / 1000
}

#[test]
fn one_slow_request_in_a_hundred_is_a_second_kind() {
    let run = minute(|n| if n * 7919 % 6000 < 60 { 600 * MS + n * 31 % 10 * MS } else { usual(n) }, |_| 10);
    let found = findings(&run);
    assert_eq!(found[0].rule, "two-kinds", "{found:?}");
    assert!(found[0].claim.starts_with("1.00 % of \"Tap\" take 60"), "{}", found[0].claim);
}

/// Two kinds of a request are a defect of a system that carries the load.
#[test]
fn a_remark_about_two_kinds_does_not_replace_the_answer_about_limits() {
    let run = minute(|n| if n * 7919 % 6000 < 60 { 600 * MS + n * 31 % 10 * MS } else { usual(n) }, |_| 10);
    let remark = conclude(&run).verdict.findings.remark;
    assert!(
        remark.statements.iter().any(|text| text.contains("no limit was reached") || text.starts_with("No limit was reached")),
        "{remark}"
    );
    // A queue that grows meanwhile denies it.
    let mut queued = run;
    gauge("redis", "list").role(Role::QueueLength).part("mails").each_second(&mut queued, |second| 8.0 * second as f64);
    let remark = conclude(&queued).verdict.findings.remark;
    assert!(!remark.text.to_lowercase().contains("no limit was reached"), "{remark}");
}

#[test]
fn the_group_with_the_slow_requests_is_named() {
    let run = |slow: fn(u64) -> bool| {
        let slice = |second: u32| {
            let mut slice = Slice::new(second).arrivals(100);
            for n in (0..100).map(|n| u64::from(second) * 100 + n) {
                let group = if n * 7919 % 6000 < 60 { "yearly" } else { "daily" };
                let time = if slow(n) { 600 * MS + n * 31 % 10 * MS } else { usual(n) };
                slice = slice.request_in(group, "Tap", time);
            }
            slice.done()
        };
        findings(&synthetic::run_of(plan(open(100.0, u64::from(SECONDS))), (0..SECONDS).map(slice).collect())).remove(0).claim
    };
    let claim = run(|n| n * 7919 % 6000 < 60);
    assert!(claim.starts_with("1.00 % of \"Tap\" take 60") && claim.ends_with(": the slow ones are those of \"yearly\""), "{claim}");
    // Slow requests in both groups: the groups do not distinguish them.
    let claim = run(|n| n * 7907 % 6000 < 60);
    assert!(claim.ends_with(": there are two kinds of this request"), "{claim}");
}

#[test]
fn a_time_limit_is_no_second_kind() {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(100);
        for n in (0..100).map(|n| u64::from(second) * 100 + n) {
            let late = n * 7919 % 6000 < 60;
            let (time, outcome) = if late { (5 * SECOND, Outcome::Timeout) } else { (usual(n), Outcome::Passed) };
            slice = slice.request("Tap", 0, time, outcome);
        }
        slice.done()
    };
    let run = synthetic::run_of(plan(open(100.0, u64::from(SECONDS))), (0..SECONDS).map(slice).collect());
    assert!(findings(&run).iter().all(|finding| finding.rule != "two-kinds"), "{:?}", findings(&run));
}

#[test]
fn pauses_and_long_tails_are_no_second_kind() {
    // The same number of slow requests, but all in one second of ten.
    let pauses = minute(|n| if n / 100 % 10 == 0 && n % 100 < 10 { 600 * MS } else { usual(n) }, |_| 10);
    // Exponential times: far more than one in a hundred takes four medians, and no gap separates them.
    let tail = minute(|n| (-(((n * 7919 % 6000) as f64 + 0.5) / 6000.0).ln() * 20.0 * MS as f64) as u64, |_| 10);
    for run in [pauses, tail] {
        assert!(findings(&run).iter().all(|finding| finding.rule != "two-kinds"), "{:?}", findings(&run));
    }
}

/// Connections rise for half a minute to 2,000; memory follows them.
fn connected(each_bytes: f64, leak_bytes_per_second: f64) -> Run {
    let connections = |second: u32| u64::from(second.min(30)) * 2000 / 30;
    let mut run = minute(usual, connections);
    gauge("process:8081", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 11.0);
    gauge("process:8081", "memory").role(Role::ProcessMemory).each_second(&mut run, |second| {
        let noise = (second * 7919 % 10) as f64 * 1e6;
        80e6 + connections(second as u32) as f64 * each_bytes + second as f64 * leak_bytes_per_second + noise
    });
    run
}

#[test]
fn memory_that_follows_the_connections_is_reported_with_its_size_per_connection() {
    let found = findings(&connected(300e3, 0.0));
    assert_eq!(found[0].rule, "memory-per-connection", "{found:?}");
    let kilobytes: f64 = found[0].claim.split_whitespace().find_map(|word| word.parse().ok()).expect("a number");
    assert!((kilobytes / 300.0 - 1.0).abs() < 0.05, "{}", found[0].claim);
}

/// A database behind the target grows as the load does, and has a few connections.
#[test]
fn the_connections_of_the_load_are_not_those_of_another_process() {
    let named = |sockets: f64| {
        let mut run = connected(300e3, 0.0);
        let established = gauge("process:8081", "sockets").role(Role::ProcessConnections).label("state", "established");
        established.each_second(&mut run, |second| sockets * (second.min(30) as f64 / 30.0));
        findings(&run).iter().any(|finding| finding.rule == "memory-per-connection")
    };
    assert!(named(2_001.0) && !named(21.0));
}

#[test]
fn small_connections_and_leaks_are_not_attributed_to_connections() {
    for run in [connected(30e3, 0.0), connected(0.0, 20e6)] {
        assert!(findings(&run).iter().all(|finding| finding.rule != "memory-per-connection"), "{:?}", findings(&run));
    }
}

#[test]
fn memory_is_attributed_to_connections_only_if_it_was_constant_while_they_were() {
    // A leak, and connections that are added until the end: they cannot be distinguished.
    let mut leak = minute(usual, |second| u64::from(second) * 30);
    gauge("process:8081", "memory").role(Role::ProcessMemory).each_second(&mut leak, |second| 80e6 + second as f64 * 36e6);
    // An overload: each connection has a waiting request, and the memory belongs to the backlog.
    let mut overload = minute(usual, |second| u64::from(second.min(30)) * 2000 / 30);
    for (second, slice) in overload.slices.iter_mut().enumerate() {
        slice.generator[0].in_flight_ns = second.min(30) as u64 * 2000 / 30 * SECOND;
    }
    gauge("process:8081", "memory").role(Role::ProcessMemory).each_second(&mut overload, |second| 80e6 + second.min(30) as f64 * 13e6);
    for run in [leak, overload] {
        assert!(findings(&run).iter().all(|finding| finding.rule != "memory-per-connection"), "{:?}", findings(&run));
    }
}

#[test]
fn a_slow_connection_is_no_second_kind_of_request() {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(100);
        for n in (0..100).map(|n| u64::from(second) * 100 + n) {
            let connect = if n * 7919 % 6000 < 60 { SECOND + n * 31 % 10 * MS } else { MS / 5 };
            slice = slice.request_connecting("Tap", connect, connect + usual(n));
        }
        slice.generator(|worker| worker.syn_retransmits = 1).done()
    };
    let found = findings(&synthetic::run_of(plan(open(100.0, u64::from(SECONDS))), (0..SECONDS).map(slice).collect()));
    assert_eq!(found[0].rule, "slow-connect", "{found:?}");
    assert!(found[0].claim.ends_with("the slow ones wait for a connection"), "{}", found[0].claim);
    assert!(found[0].evidence[1].text.starts_with("the machine sent 60 SYNs again"), "{:?}", found[0].evidence);
    assert!(found.iter().all(|finding| finding.rule != "two-kinds"), "{found:?}");
}

fn pooled(size: f64, idle: f64, waiting: f64) -> Run {
    let mut run = minute(usual, |_| 10);
    let gauge = |metric, role| gauge("prometheus", metric).role(role).part("db_pool");
    let counter = |metric, role| counter("prometheus", metric).role(role).part("db_pool");
    gauge("db_pool_size", Role::PoolSize).each_second(&mut run, |_| size);
    gauge("db_pool_idle", Role::PoolIdle).each_second(&mut run, |_| idle);
    gauge("db_pool_waiting", Role::PoolWaiting).each_second(&mut run, |second| if second > 10 { waiting } else { 0.0 });
    counter("db_pool_wait_seconds_total", Role::PoolWaitTime).each_second(&mut run, |_| waiting);
    counter("db_pool_use_seconds_total", Role::PoolUseTime).each_second(&mut run, |_| size);
    run
}

#[test]
fn operations_that_wait_for_a_full_pool_name_it() {
    let found = findings(&pooled(2.0, 0.0, 24.0));
    assert_eq!(found[0].rule, "connection-pool", "{found:?}");
    assert_eq!(found[0].claim, "All 2 connections of the pool \"db_pool\" are in use, and 24 operations are waiting for one on average");
    assert!(found[0].evidence.iter().any(|evidence| evidence.text.contains("12 times as long")), "{:?}", found[0].evidence);
}

#[test]
fn a_pool_with_idle_connections_or_without_waiters_is_not_named() {
    for run in [pooled(20.0, 8.0, 3.0), pooled(20.0, 0.0, 0.0)] {
        assert!(findings(&run).iter().all(|finding| finding.rule != "connection-pool"), "{:?}", findings(&run));
    }
}

#[test]
fn a_pool_with_lost_members_is_not_in_use() {
    // Its database is unavailable: operations wait for connections that do not exist.
    let with = |used: f64| {
        let mut run = pooled(10.0, 0.0, 40.0);
        run.signals.retain(|series| ![Some(Role::PoolSize), Some(Role::PoolUseTime)].contains(&series.signal.role));
        gauge("prometheus", "db_pool_max").role(Role::PoolSizeMax).part("db_pool").each_second(&mut run, |_| 10.0);
        let in_use = gauge("prometheus", "db_pool_in_use").role(Role::PoolInUse).part("db_pool");
        in_use.each_second(&mut run, |second| if second > 10 { used } else { 3.0 });
        findings(&run)
    };
    assert!(with(0.0).iter().all(|finding| finding.rule != "connection-pool"), "{:?}", with(0.0));
    assert!(with(9.2)[0].claim.starts_with("All 10 connections of the pool \"db_pool\" are in use"), "{:?}", with(9.2));
}

#[test]
fn each_pool_is_judged_by_its_own_signals() {
    // Another pool of the same service has idle connections, which the full pool cannot use.
    let mut run = pooled(2.0, 0.0, 24.0);
    gauge("prometheus", "http_pool_idle").role(Role::PoolIdle).part("http_pool").each_second(&mut run, |_| 8.0);
    gauge("prometheus", "http_pool_size").role(Role::PoolSize).part("http_pool").each_second(&mut run, |_| 8.0);
    let found = findings(&run);
    assert_eq!(found[0].claim, "All 2 connections of the pool \"db_pool\" are in use, and 24 operations are waiting for one on average");
}

#[test]
fn a_pool_that_only_reports_its_maximum_is_named_by_it() {
    let mut run = pooled(2.0, 0.0, 24.0);
    run.signals.retain(|series| series.signal.role != Some(Role::PoolSize));
    assert!(findings(&run).iter().all(|finding| finding.rule != "connection-pool"), "no size is known");
    gauge("prometheus", "db_pool_max").role(Role::PoolSizeMax).part("db_pool").each_second(&mut run, |_| 3.0);
    assert!(findings(&run)[0].claim.starts_with("All 3 connections of the pool \"db_pool\" are in use"), "{:?}", findings(&run));
}
