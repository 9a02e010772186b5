//! Resources that are never released, repeated too often, or delayed by a protocol: patterns that identify the cause.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::{Outcome, Phases, Role};
use loadstone_run_directory::{Run, RunEnd};

use crate::changes::{Request, constant, noise, passes};
use crate::draws::Draws;
use crate::fluid::{Load, System};
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge, open, plan};

fn verdict(run: &Run) -> (Vec<Finding>, String) {
    let found = conclude(run).verdict.findings;
    (found.findings, found.remark.text)
}

/// 20 requests per second for 40 seconds whose body arrives later than their header by `body`. Nanoseconds.
fn with_body(body: impl Fn(u64) -> u64) -> Run {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(20);
        for n in 0..20 {
            let body = body(u64::from(second) * 20 + n);
            slice = slice.request_with("List", Phases { wait: 3 * MS, body, ..Phases::default() }, 3 * MS + body);
        }
        slice.done()
    };
    synthetic::run_of(plan(open(20.0, 40)), (0..40).map(slice).collect())
}

#[test]
fn a_body_that_always_comes_forty_milliseconds_late_waits_for_an_acknowledgement() {
    let (found, _) = verdict(&with_body(|n| 40 * MS + n * 37 % 40 * MS / 10));
    assert!(found[0].rule == "delayed-acknowledgement" && found[0].claim.starts_with("The rest of \"List\" arrives 4"), "{found:?}");
    // A slow network varies; a body that is generated slowly has its own duration.
    for body in [(|n| 10 * MS + n * 37 % 60 * MS) as fn(u64) -> u64, |_| 60 * MS, |_| MS] {
        let (found, _) = verdict(&with_body(body));
        assert!(found.iter().all(|finding| finding.rule != "delayed-acknowledgement"), "{found:?}");
    }
}

/// 10 requests per second of 20 ms for 30 seconds, and the ages of requests that were open at the end of the run. Seconds.
fn left_open(open_s: &[u64]) -> Run {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(10).requests("Buy", 10, 20 * MS).requests("List", 10, 5 * MS);
        if second == 29 {
            for seconds in open_s {
                slice = slice.request("Buy", 0, seconds * SECOND, Outcome::Interrupted);
            }
        }
        slice.done()
    };
    synthetic::run_of(plan(open(10.0, 30)), (0..30).map(slice).collect())
}

#[test]
fn requests_that_never_end_while_others_do_are_reported_with_the_first() {
    let (found, _) = verdict(&left_open(&[18, 12, 7, 3]));
    let claim = "4 requests of \"Buy\" got no response before the run ended, the first from about 0:12 on: something that they need is not released";
    assert!(found[0].rule == "unanswered" && found[0].claim.starts_with(claim), "{found:?}");
    assert!(verdict(&left_open(&[1, 1, 1])).0.iter().all(|finding| finding.rule != "unanswered"));
    // A single request cut off by the end of the run is no finding.
    assert!(verdict(&left_open(&[18])).0.iter().all(|finding| finding.rule != "unanswered"));
}

/// A deadlock at 0:10, and a time limit of the generator: the requests that are open at the end began far later.
#[test]
fn requests_are_unanswered_since_the_last_response() {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(5);
        if second < 10 {
            slice = slice.requests("Buy", 5, 20 * MS);
        }
        for _ in 0..if second >= 30 { 5 } else { 0 } {
            slice = slice.request("Buy", 0, 20 * SECOND, Outcome::Timeout);
        }
        for seconds in if second == 39 { vec![9, 8, 7, 6, 5] } else { Vec::new() } {
            slice = slice.request("Buy", 0, seconds * SECOND, Outcome::Interrupted);
        }
        slice.done()
    };
    let (found, _) = verdict(&synthetic::run_of(plan(open(5.0, 40)), (0..40).map(slice).collect()));
    assert!(found[0].rule == "unanswered" && found[0].claim.contains("the first from about 0:10 on"), "{found:?}");
}

/// Requests of 20 s, and a run that the user ended after 3 s: nothing shows that they would not have been answered.
#[test]
fn requests_that_the_user_cut_off_are_no_finding() {
    let mut slice = Slice::new(2).arrivals(4);
    for seconds in [3, 3, 2, 2] {
        slice = slice.request("Slow", 0, seconds * SECOND, Outcome::Interrupted);
    }
    let slices = vec![Slice::new(0).arrivals(2).done(), Slice::new(1).arrivals(2).done(), slice.done()];
    let mut run = synthetic::run_of(plan(open(2.0, 30)), slices);
    run.end = Some(RunEnd::Interrupted);
    assert!(verdict(&run).0.iter().all(|finding| finding.rule != "unanswered"), "{:?}", verdict(&run).0);
    // Where others of the name took a fraction of that time, it does.
    let mut compared = left_open(&[18, 12, 7, 3]);
    compared.end = Some(RunEnd::Interrupted);
    assert_eq!(verdict(&compared).0[0].rule, "unanswered");
}

#[test]
fn a_long_queue_has_no_requests_that_never_end() {
    let system = System { capacity: 20.0, base: 0.04, is_shared: true };
    let mut run = system.under(Load::Ramp(4.0, 60.0, 60)).run;
    let last = run.slices.last_mut().unwrap();
    let waited = last.series.iter().find(|series| &*series.key.name == "Register").unwrap().service.max();
    let series = last.series.iter_mut().find(|series| &*series.key.name == "Register").unwrap();
    (0..50).for_each(|_| series.service_censored.record(waited));
    let (found, _) = verdict(&run);
    assert!(!found.is_empty() && found.iter().all(|finding| finding.rule != "unanswered"), "{found:?}");
}

/// A ramp beyond the capacity, with `each` transactions per request.
fn with_transactions(each: f64) -> Vec<Finding> {
    let system = System { capacity: 20.0, base: 0.2, is_shared: false };
    let fluid = system.under(Load::Ramp(2.0, 40.0, 60));
    let mut run = fluid.run.clone();
    let ended = |second: u64| fluid.ended[second as usize];
    counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |second| each * 2.0 * ended(second));
    verdict(&run).0
}

#[test]
fn many_transactions_per_request_rank_before_their_consequences() {
    let found = with_transactions(90.0);
    assert!(found[0].rule == "many-transactions" && found[0].confidence == Confidence::High, "{found:?}");
    assert!(found[0].claim.contains("per request"), "{}", found[0].claim);
    assert!(with_transactions(2.0).iter().all(|finding| finding.rule != "many-transactions"));
}

#[test]
fn many_transactions_without_waiting_are_no_cause() {
    let slice = |second: u32| Slice::new(second).arrivals(10).requests("Report", 10, 20 * MS).done();
    let mut run = synthetic::run_of(plan(open(10.0, 30)), (0..30).map(slice).collect());
    counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| 900.0);
    let (found, remark) = verdict(&run);
    assert!(found.is_empty(), "{found:?}");
    // They are reported as a cost.
    assert!(remark.contains("transactions per iteration, 90 per request: each one is a round trip"), "{remark}");
    // In a flow they may belong to work that no request waits for.
    run.plan.flows = vec![loadstone_plan::FlowSpec { name: "Time to send".to_owned(), timeout_ns: None, drain_ns: 0, stages: Vec::new() }];
    assert!(!verdict(&run).1.contains("transactions"), "{}", verdict(&run).1);
    run.plan.flows.clear();
    counter("postgres", "commits").role(Role::Commits).each_second(&mut run, |_| 20.0);
    assert!(!verdict(&run).1.contains("transactions"), "{}", verdict(&run).1);
}

/// 45 seconds at `rate`, and a pool of 20 with `in_use` connections in use.
fn with_pool(rate: impl Fn(u32) -> u64, in_use: impl Fn(u64) -> f64) -> String {
    let slice = |second: u32| Slice::new(second).arrivals(rate(second)).requests("Buy", rate(second), 5 * MS).done();
    let mut run = synthetic::run_of(plan(open(20.0, 45)), (0..45).map(slice).collect());
    let pool = |metric, role| gauge("app", metric).role(role).part("shop");
    pool("hikaricp_connections_max", Role::PoolSizeMax).each_second(&mut run, |_| 20.0);
    pool("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, in_use);
    let (found, remark) = verdict(&run);
    assert!(found.is_empty(), "{found:?}");
    remark
}

#[test]
fn leaked_connections_are_reported_before_the_pool_is_empty() {
    let leaks = |second: u64| (second / 4) as f64 + f64::from(u8::from(second.is_multiple_of(3)));
    let remark = with_pool(|_| 20, leaks);
    assert!(remark.contains("But the members in use of the pool \"shop\" grew steadily, from"), "{remark}");
    // One connection every four seconds, and 11 of 20 at 0:44.
    let reported = remark.split("none is left at 1:").nth(1).and_then(|rest| rest.get(..2)?.parse::<u32>().ok());
    assert!(reported.is_some_and(|second| (14..=26).contains(&second)), "{remark}");
    // Taken and returned; taken once at the start; following the load.
    let comes_and_goes = |second: u64| (second * 7 % 11) as f64;
    assert!(!with_pool(|_| 20, comes_and_goes).contains("(a leak)"));
    assert!(!with_pool(|_| 20, |second| (second / 2).min(6) as f64).contains("(a leak)"));
    assert!(!with_pool(|second| 5 + u64::from(second), leaks).contains("(a leak)"));
}

/// Half a minute at 20 requests per second, and the memory of the process by second.
fn with_memory(bytes: impl Fn(u64) -> f64) -> String {
    let slice = |second: u32| Slice::new(second).arrivals(20).requests("List", 20, 5 * MS).done();
    let mut run = synthetic::run_of(plan(open(20.0, 30)), (0..30).map(slice).collect());
    gauge("shop", "memory").role(Role::ProcessMemory).each_second(&mut run, bytes);
    let (found, remark) = verdict(&run);
    assert!(found.is_empty(), "{found:?}");
    remark
}

#[test]
fn memory_that_grows_to_the_end_is_reported_next_to_a_healthy_result() {
    let remark = with_memory(|second| 80e6 + 4e6 * second as f64);
    assert!(remark.contains("The memory of \"shop\" grew steadily from 80.0 MB") && remark.contains("200 kB per request"), "{remark}");
    // Memory that is collected now and then, that has levelled off, that hardly changes, that grows in one step, or that was larger before.
    for bytes in [
        (|second| 80e6 + 10e6 * (second % 4) as f64) as fn(u64) -> f64,
        |second| if second < 20 { 80e6 + 1e5 * second as f64 } else { 130e6 },
        |second| 80e6 + 5e6 * second.min(10) as f64,
        |second| 80e6 + 1e5 * second as f64,
        |second| if second < 5 { 150e6 } else { 80e6 + 2e6 * second as f64 },
    ] {
        let remark = with_memory(bytes);
        assert!(!remark.contains("memory"), "{remark}");
    }
}

/// The failures are unrelated to the memory, and are no evidence about it.
#[test]
fn growing_memory_is_reported_next_to_findings_unless_waiting_work_explains_it() {
    let with = |service: fn(u32) -> (u64, u64)| {
        let mut run = crate::fluid::constant(40, 20, service);
        gauge("shop", "memory").role(Role::ProcessMemory).each_second(&mut run, |second| 80e6 + 4e6 * second as f64);
        verdict(&run)
    };
    let (found, remark) = with(|second| (5 * MS, if second < 20 { 0 } else { 4 }));
    assert_eq!(found[0].rule, "failures");
    assert!(remark.starts_with("The memory of \"shop\" grew steadily from 80.0 MB"), "{remark}");
    let mut run = System { capacity: 25.0, base: 0.04, is_shared: false }.under(Load::Ramp(2.0, 60.0, 60)).run;
    gauge("shop", "memory").role(Role::ProcessMemory).each_second(&mut run, |second| 80e6 + 4e6 * second as f64);
    let (found, remark) = verdict(&run);
    assert!(!found.is_empty() && remark.is_empty(), "{remark}");
}

#[test]
fn a_machine_without_an_idle_core_is_reported_even_if_nothing_waits() {
    let slice = |second: u32| Slice::new(second).arrivals(20).requests("List", 20, 5 * MS).done();
    let mut run = synthetic::run_of(plan(open(20.0, 30)), (0..30).map(slice).collect());
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 4.0);
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| if second < 10 { 3.2 } else { 0.1 });
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.4);
    let (found, remark) = verdict(&run);
    assert!(found.is_empty(), "{found:?}");
    assert!(remark.contains("all 4 cores of the machine were busy, 0.4 of them for the observed processes: other programs"), "{remark}");
}

/// 10 iterations per second of 4 requests. Each connection is kept alive, or closed after the request. A handshake takes 12 ms.
fn with_connections(kept: bool) -> Vec<Finding> {
    let slice = |second: u32| {
        let mut slice = Slice::new(second).arrivals(10);
        for n in 0..40 {
            let tls = if kept && n % 4 > 0 { 0 } else { 12 * MS };
            slice = slice.request_with("List", Phases { tls, wait: 5 * MS, ..Phases::default() }, 5 * MS + tls);
        }
        slice.generator(|worker| worker.connections_opened = if kept { 10 } else { 40 }).done()
    };
    verdict(&synthetic::run_of(plan(open(10.0, 30)), (0..30).map(slice).collect())).0
}

#[test]
fn connections_that_the_target_closes_are_reported_with_their_cost() {
    let found = with_connections(false);
    let claim = "The target closes its connections: 1.0 were opened per request, and TLS handshakes took 70.6 %";
    assert!(found[0].rule == "new-connections" && found[0].claim.starts_with(claim), "{found:?}");
    assert!(with_connections(true).is_empty());
}

/// "Buy" takes 0.4 s longer from 0:20 on, at 30/s, while `sessions` of the database wait for a flush.
fn with_flush(sessions: f64) -> Finding {
    with_waits(sessions, Role::SessionsWaitingForCommit, &["IO:WALSync"])
}

/// The same with each of these wait events in turn.
fn with_waits(sessions: f64, role: Role, events: &'static [&'static str]) -> Finding {
    let buy = |second: u32, draws: &mut Draws| 0.01 * noise(0.3, draws) + if second >= 20 { 0.4 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Buy", time: &buy, outcome: &passes }], 1);
    let waiting = |second: u64| if second >= 20 { sessions } else { 0.0 };
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| waiting(second) + 0.2);
    let part = sessions / events.len() as f64;
    for event in events {
        let waits = gauge("postgres", "sessions").role(role).label("wait", event);
        waits.each_second(&mut run, |second| if second >= 20 { part } else { 0.0 });
    }
    verdict(&run).0.into_iter().find(|finding| finding.rule == "change").unwrap()
}

#[test]
fn the_additional_time_of_a_request_is_attributed_to_the_wait_of_as_many_sessions() {
    let Finding { claim, next, .. } = with_flush(12.0);
    assert!(next.starts_with("Find what made flushes of the database's log slow at 0:20: its disk"), "{next}");
    assert!(claim.ends_with("the sessions of its database wait for that long at commit (IO:WALSync)"), "{claim}");
    // A session that waits for the flushing session waits for the flush.
    let claim = with_waits(12.0, Role::SessionsWaitingForCommit, &["IO:WALSync", "LWLock:WALWrite"]).claim;
    assert!(claim.ends_with("wait for that long at commit (IO:WALSync and LWLock:WALWrite)"), "{claim}");
    let Finding { claim, next, .. } = with_waits(12.0, Role::SessionsWaitingForLock, &["Lock:relation"]);
    assert!(claim.contains("(Lock:relation)") && next.starts_with("Find what took the lock at 0:20: "), "{claim}: {next}");
    // A few more sessions do not explain the additional time of twelve requests, and a hundred belong to other work.
    for sessions in [1.0, 100.0] {
        let claim = with_flush(sessions).claim;
        assert!(!claim.contains("database"), "{claim}");
    }
}

/// Behind a limit, each waiting request holds a descriptor.
#[test]
fn descriptors_of_waiting_requests_are_no_leak() {
    let mut run = System { capacity: 20.0, base: 0.2, is_shared: false }.under(Load::Ramp(2.0, 40.0, 60)).run;
    let asked = |second: u64| 2.0 + 38.0 * second as f64 / 60.0;
    let waiting = |second: u64| (0..second).map(|at| (asked(at) - 20.0).max(0.0)).sum::<f64>();
    gauge("process:80", "descriptors").role(Role::ProcessDescriptors).each_second(&mut run, |second| 10.0 + waiting(second));
    gauge("process:80", "descriptors_max").role(Role::ProcessDescriptorsMax).each_second(&mut run, |_| 1000.0);
    let (found, remark) = verdict(&run);
    assert!(!found.is_empty() && !remark.contains("leak"), "{remark}: {found:?}");
}

/// A proxy sends each response at 40 kB/s.
#[test]
fn time_after_the_first_byte_is_mentioned_even_if_no_limit_was_reached() {
    let remark = |body_ms: u64| verdict(&with_body(move |index| (body_ms + index % 3) * MS)).1;
    let slow = remark(950);
    assert!(slow.contains("of the time in requests passed after the first byte of the response, 951 ms in each on average"), "{slow}");
    let fast = remark(1);
    assert!(!fast.contains("after the first byte"), "{fast}");
}
