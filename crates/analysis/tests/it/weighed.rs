//! Alternatives are checked against the record: they are ruled out with its numbers, or reported as possible, and then no finding has high
//! confidence.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{Outcome, Role};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::pipeline::{Pipeline, healthy, simulate};
use crate::synthetic::{counter, gauge};

/// 40 ms of one core per registration, beyond its capacity, with its process observed.
fn one_core() -> Run {
    let fluid = System { capacity: 25.0, base: 0.04, is_shared: true }.under(Load::Ramp(2.0, 35.0, 60));
    let mut run = fluid.run.clone();
    let used = |second: u64| fluid.ended[second as usize] * 0.04 + 0.005 * (second % 3) as f64;
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, used);
    gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 9.0);
    gauge("process:8080", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, used);
    run
}

fn other<'f>(finding: &'f Finding, begins: &str) -> Option<&'f str> {
    finding.alternatives.iter().map(|other| other.text.as_str()).find(|other| other.starts_with(begins))
}

#[test]
fn another_resource_at_its_limit_in_the_same_period_rules_out_high_confidence() {
    let with_disk = |from: u64| {
        let mut run = one_core();
        let disk = |metric| counter("host", metric).label("device", "vda").part("vda");
        disk("disk_busy").role(Role::DiskBusy).each_second(&mut run, |second| if second >= from { 0.99 } else { 0.1 });
        disk("disk_waiting").role(Role::DiskQueue).each_second(&mut run, |second| if second >= from { 12.0 } else { 0.0 });
        findings(&run)
    };
    let alone = findings(&one_core());
    assert!(alone[0].rule == "cpu" && alone[0].confidence == Confidence::High, "{}", shown(&alone));
    // Before, throughput grew while the disk was at its limit.
    let all_along = with_disk(40);
    let reported = other(&all_along[0], "The disk vda. Not ruled out: it was at its limit from ");
    assert!(reported.is_some() && all_along[0].rule == "cpu" && all_along[0].confidence == Confidence::Medium, "{}", shown(&all_along));
    let late = with_disk(52);
    let reported = other(&late[0], "The disk vda. Ruled out: it was at its limit from 0:5");
    assert!(reported.is_some() && late[0].confidence == Confidence::High, "{}", shown(&late));
}

/// A pool of five for twenty senders, whose endpoint is slower by a factor in the second half.
fn pool_of_five(slower: f64) -> Finding {
    let mut run = simulate(&Pipeline { pool: 5, ..healthy() }, 3);
    let hold = run.signals.iter_mut().find(|series| series.signal.role == Some(Role::CallHold)).unwrap();
    let middle = hold.points.last().unwrap().at / 2;
    hold.points.iter_mut().filter(|point| point.at >= middle).for_each(|point| point.value *= slower);
    findings(&run).into_iter().find(|finding| finding.rule == "connection-pool").unwrap()
}

#[test]
fn an_endpoint_that_slows_down_is_not_ruled_out() {
    let steady = pool_of_five(1.0);
    assert!(other(&steady, "A slower \"subscriber\". Ruled out: it held calls for").is_some(), "{}", shown(&[steady]));
    let slower = pool_of_five(4.0);
    let reported = other(&slower, "A slower \"subscriber\". Not ruled out: it held calls for").is_some();
    assert!(reported && slower.confidence == Confidence::Medium, "{}", shown(&[slower]));
}

/// Three places, each held for 40 ms per request, and a request that needs none; the system determines how evenly requests leave.
#[test]
fn a_delaying_limit_is_ruled_out_by_a_whole_number_of_places() {
    let pool = System { capacity: 75.0, base: 0.04, is_shared: false };
    let found = findings(&pool.under(Load::Ramp(4.0, 120.0, 60)).run);
    assert_eq!(found[0].rule, "effective-concurrency", "{}", shown(&found));
    let reported = other(&found[0], "A rate limit of 75");
    assert!(reported.is_some_and(|other| other.contains("instead of rejecting. Ruled out: ")), "{}", shown(&found));
    assert!(found[0].next.contains("in the service or in its dependencies"), "{}", shown(&found));
}

/// Ten connections of a service, all in use, held for longer by each request in the second half, while `sessions` of the database wait for
/// a lock.
#[test]
fn a_pool_is_not_only_too_small_if_hold_times_increase() {
    let run = |waiting: f64| {
        let fluid = System { capacity: 100.0, base: 0.02, is_shared: false }.under(Load::Ramp(5.0, 150.0, 60));
        let mut run = fluid.run.clone();
        let hikari = |metric, role| gauge("app", metric).role(role).part("shop");
        let open = |second: u64| fluid.open[second as usize];
        hikari("hikaricp_connections", Role::PoolSize).each_second(&mut run, |_| 10.0);
        hikari("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, |second| open(second).min(10.0));
        hikari("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, |second| (open(second) - 10.0).max(0.0).floor());
        let locks = gauge("pg", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:tuple");
        locks.each_second(&mut run, |second| if open(second) > 10.0 { waiting } else { 0.0 });
        gauge("pg", "active").role(Role::SessionsActive).each_second(&mut run, |second| open(second).min(10.0));
        findings(&run).into_iter().find(|finding| finding.rule == "connection-pool").unwrap()
    };
    let (held, behind) = (run(0.0), run(9.0));
    assert!(other(&held, "A pool that is only too small. Ruled out: each connection is held ").is_some(), "{}", shown(&[held]));
    let why = "A pool that is only too small. Ruled out: 9 sessions of the database wait for Lock:tuple, and each connection is held ";
    assert!(other(&behind, why).is_some() && behind.confidence == Confidence::Low, "{}", shown(&[behind]));
}

/// If the keys of a flow do not match, its rate is no evidence about the number of workers needed.
#[test]
fn no_number_of_workers_is_advised_if_journeys_are_unmatched() {
    let mut run = simulate(&Pipeline { senders: 10, database: false, ..healthy() }, 3);
    let next = |run: &Run| findings(run).into_iter().find(|finding| finding.rule == "effective-concurrency").unwrap().next;
    assert!(next(&run).contains("workers busy (rate × time per call). Use more than"), "{}", next(&run));
    run.slices.last_mut().unwrap().flows[0].unmatched = 500;
    let reported = "The number needed is unknown, because keys of \"Time to send\" do not match: 500 finished without a start";
    assert!(next(&run).contains(reported) && !next(&run).contains("Use more than"), "{}", next(&run));
}

/// Other programs fill the core, and every request fails at once.
#[test]
fn requests_that_nearly_all_fail_rank_before_a_full_resource() {
    let mut run = one_core();
    assert_eq!(findings(&run)[0].rule, "cpu");
    for series in run.slices.iter_mut().flat_map(|slice| &mut slice.series) {
        (series.failed, series.outcomes) = (series.count, vec![(Outcome::Status, series.count)]);
    }
    let found = findings(&run);
    assert!(found[0].rule == "failures" && found[0].confidence == Confidence::High, "{}", shown(&found));
}
