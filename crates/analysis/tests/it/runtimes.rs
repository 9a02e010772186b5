//! The metrics of a runtime while work waits: its event loop, its own threads, the stacks of a service's threads.

use loadstone_analysis::{Alternative, Confidence, Finding};
use loadstone_metrics::{Role, Snapshot, unit};
use loadstone_plan::{ClosedStage, LoadProfile};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{Load, System};
use crate::simulation::{Service, Step, Target, simulate, step};
use crate::synthetic::{SECOND, counter, gauge};

fn rules(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.rule.as_str()).collect()
}

/// 40 ms of the loop per request: 25 per second can pass.
const LOOP: System = System { capacity: 25.0, base: 0.04, is_shared: true };
/// Four places, each for 100 ms.
const PLACES: System = System { capacity: 40.0, base: 0.1, is_shared: false };
const RAMP: Load = Load::Ramp(2.0, 50.0, 60);

/// The event loop of a Node service, with 80 % of its time in `login`, half of it in functions that it calls.
fn observed_loop(run: &mut Run, busy: impl Fn(u64) -> f64 + Copy, computes: f64) {
    counter("node:80", "busy").unit(unit::SECONDS).role(Role::EventLoopBusy).each_second(run, busy);
    counter("node:80", "cpu").unit(unit::SECONDS).role(Role::EventLoopCpu).each_second(run, move |second| computes * busy(second));
    gauge("node:80", "delay").unit(unit::SECONDS).role(Role::EventLoopDelay).each_second(run, move |second| busy(second) / 50.0);
    let function =
        |name: &str, under: &str| gauge("node:80", "f").unit("cores").role(Role::FunctionCpu).label("function", name).label("under", under);
    function("hash shop.mjs:3", "login shop.mjs:9 ← handle shop.mjs:20").each_second(run, move |second| 0.7 * busy(second));
    function("cpuUsage node:process", "login shop.mjs:9 ← handle shop.mjs:20").each_second(run, move |second| 0.1 * busy(second));
    function("parse shop.mjs:14", "handle shop.mjs:20").each_second(run, move |second| 0.1 * busy(second));
}

#[test]
fn the_function_that_uses_the_loops_time_is_named() {
    for load in [RAMP, Load::Ramp(40.0, 40.0, 40), Load::Users(1, 30, 60)] {
        let fluid = LOOP.under(load);
        let mut run = fluid.run.clone();
        observed_loop(&mut run, |second| f64::min(0.99, fluid.ended[second as usize] * 0.04), 0.98);
        let found = findings(&run);
        let first = found.first().unwrap_or_else(|| panic!("{load:?}: nothing"));
        assert!(first.rule == "event-loop" && first.confidence == Confidence::High, "{load:?}: {}", shown(&found));
        assert!(first.claim.starts_with("The event loop of \"node:80\" has no time left"), "{load:?}: {}", shown(&found));
        assert!(first.claim.contains("80 % of it in `hash shop.mjs:3` below `login shop.mjs:9`"), "{load:?}: {}", shown(&found));
    }
}

/// The finding about a full loop whose functions were not sampled, unless `change` adds some.
fn of_full_loop(change: impl FnOnce(&mut Run, &dyn Fn(u64) -> f64)) -> Finding {
    let fluid = LOOP.under(RAMP);
    let mut run = fluid.run.clone();
    let busy = |second: u64| f64::min(0.99, fluid.ended[second as usize] * 0.04);
    counter("node:80", "busy").unit(unit::SECONDS).role(Role::EventLoopBusy).each_second(&mut run, busy);
    change(&mut run, &busy);
    findings(&run).into_iter().find(|finding| finding.rule == "event-loop").expect("a finding about the event loop")
}

/// 500 kB for each "Register", and 100 B for each of the others, whose time is short.
#[test]
fn large_responses_of_the_request_that_uses_the_loop_are_named() {
    let advised = |bytes: u64| {
        of_full_loop(|run, _| {
            for series in run.slices.iter_mut().flat_map(|slice| &mut slice.series) {
                series.bytes_received = series.count * if *series.key.name == *"Register" { bytes } else { 100 };
            }
        })
    };
    let large = advised(500_000);
    assert!(large.claim.contains("it has work 99.0 % of the time; each \"Register\" takes 3"), "{}", large.claim);
    let named = |evidence: &loadstone_analysis::Evidence| evidence.text.starts_with("the responses of \"Register\" have 500 kB on average");
    assert!(large.evidence.iter().any(named), "{large:?}");
    assert_eq!(large.next, "Return less in \"Register\" (pages, fewer fields): its responses have 500 kB, or run more processes.");
    let small = advised(5_000);
    assert!(!small.evidence.iter().any(named) && small.next.starts_with("Take a CPU profile"), "{small:?}");
}

/// The only stack that was ever seen is no profile, and neither are functions without CPU time.
#[test]
fn a_function_with_one_reading_or_no_time_is_not_named() {
    let function = || gauge("node:80", "f").unit("cores").role(Role::FunctionCpu).label("function", "unpark");
    let once = of_full_loop(|run, _| {
        function().each_second(run, |_| 0.9);
        run.signals.last_mut().unwrap().points.drain(..40);
        run.signals.last_mut().unwrap().points.truncate(1);
    });
    let never = of_full_loop(|run, _| function().each_second(run, |_| 0.0));
    for found in [once, never] {
        assert!(!found.claim.contains("unpark") && found.next.starts_with("Take a CPU profile"), "{found:?}");
    }
}

#[test]
fn a_profile_without_a_function_that_takes_much_is_to_be_read() {
    let parts = [("parse a.mjs:1", 0.21), ("check a.mjs:2", 0.2), ("store a.mjs:3", 0.2), ("render a.mjs:4", 0.19), ("log a.mjs:5", 0.2)];
    let found = of_full_loop(|run, busy| {
        for (name, part) in parts {
            let function = gauge("node:80", "f").unit("cores").role(Role::FunctionCpu).label("function", name);
            function.each_second(run, |second| part * busy(second));
        }
    });
    let advice = "Read the profile in the report (`parse a.mjs:1` takes 21 % of the time, and the rest is spread), or run more processes.";
    assert_eq!(found.next, advice);
}

/// 40 ms of the loop per "Register"; equally many "Health" end, so half of that per request.
#[test]
fn cpu_time_per_request_is_reported_by_function_with_and_without_waiting_work() {
    let fluid = LOOP.under(RAMP);
    let mut run = fluid.run.clone();
    observed_loop(&mut run, |second| f64::min(0.99, fluid.ended[second as usize] * 0.04), 0.98);
    let profiles = loadstone_analysis::conclude(&run).profiles;
    let [profile] = &profiles[..] else { panic!("{profiles:?}") };
    let stacks: Vec<Vec<&str>> = profile.stacks.iter().map(|one| one.stack.iter().map(String::as_str).collect()).collect();
    let (handle, login) = ("handle shop.mjs:20", "login shop.mjs:9");
    assert_eq!(
        stacks,
        [vec![handle, login, "cpuUsage node:process"], vec![handle, login, "hash shop.mjs:3"], vec![handle, "parse shop.mjs:14"]]
    );
    let hash = &profile.stacks[1];
    for reported in [Some(hash.seconds), hash.free_seconds, hash.held_seconds] {
        let reported = reported.unwrap_or_else(|| panic!("{hash:?}"));
        assert!((reported / 0.014 - 1.0).abs() < 0.05, "{hash:?}");
    }
    // If nothing ever waits, nothing is compared.
    let fluid = LOOP.under(Load::Ramp(10.0, 10.0, 40));
    let mut run = fluid.run.clone();
    observed_loop(&mut run, |second| fluid.ended[second as usize] * 0.04, 0.98);
    let profiles = loadstone_analysis::conclude(&run).profiles;
    let hash = &profiles[0].stacks[1];
    assert!((hash.seconds / 0.014 - 1.0).abs() < 0.05 && hash.held_seconds.is_none(), "{hash:?}");
}

/// The loop always has work and got a third of a core: the function is not the cause.
#[test]
fn a_loop_that_waits_for_a_core_lowers_the_confidence() {
    let fluid = LOOP.under(RAMP);
    let mut run = fluid.run.clone();
    observed_loop(&mut run, |second| f64::min(0.99, fluid.ended[second as usize] * 0.04), 0.3);
    let found = findings(&run);
    let of_loop = found.iter().find(|finding| finding.rule == "event-loop").expect("a finding about the event loop");
    let weighed = |other: &Alternative| other.text.contains("Not ruled out: its process used 0.29");
    assert!(of_loop.confidence == Confidence::Medium && of_loop.alternatives.iter().any(weighed), "{}", shown(&found));
}

/// The same, and the kernel shows that the loop's thread waits for a core meanwhile.
#[test]
fn a_loop_whose_thread_waits_for_a_core_is_not_said_to_compute() {
    let fluid = LOOP.under(RAMP);
    let busy = |second: u64| f64::min(0.99, fluid.ended[second as usize] * 0.04);
    let observed = |cpu: f64, waits: f64| {
        let mut run = fluid.run.clone();
        observed_loop(&mut run, busy, 0.3);
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| cpu * busy(second));
        let waits = |second: u64| waits * busy(second);
        counter("process:80", "busiest_thread_wait").role(Role::ProcessBusiestThreadWait).each_second(&mut run, waits);
        let found = findings(&run);
        let of_loop = found.iter().find(|finding| finding.rule == "event-loop").expect("a finding about the event loop").clone();
        (of_loop, shown(&found))
    };
    let (of_loop, all) = observed(0.3, 0.7);
    assert!(of_loop.claim.ends_with("is at a core for 30.0 % of it only: it waits for one that other programs use"), "{all}");
    assert!(of_loop.evidence[1].text.starts_with("the busiest thread of \"process:80\" waited for a core for 69"), "{all}");
    // Its thread hardly waits, or the process is another one.
    for (cpu, waits) in [(0.3, 0.1), (0.9, 0.7)] {
        let (of_loop, all) = observed(cpu, waits);
        assert!(of_loop.claim.contains("has no time left"), "{all}");
    }
}

/// One thread of the process runs the loop, so a second finding about it would state the same evidence.
#[test]
fn the_thread_that_runs_a_full_loop_is_evidence_of_one_finding() {
    let fluid = LOOP.under(RAMP);
    let busy = |second: u64| f64::min(0.99, fluid.ended[second as usize] * 0.04);
    let observed = |processes: &[(&str, f64)]| {
        let mut run = fluid.run.clone();
        observed_loop(&mut run, busy, 0.98);
        for (name, part) in processes {
            gauge(name, "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 11.0);
            counter(name, "cpu").role(Role::ProcessCpu).unit("cores").each_second(&mut run, |second| part * busy(second));
            counter(name, "busiest_thread")
                .role(Role::ProcessThreadCpuMax)
                .unit("cores")
                .each_second(&mut run, |second| part * busy(second));
        }
        findings(&run)
    };
    let found = observed(&[("process:80", 0.97), ("process:5432", 0.2)]);
    assert!(found[0].rule == "event-loop" && !rules(&found).contains(&"cpu"), "{}", shown(&found));
    assert!(shown(&found).contains("one thread of \"process:80\" used 95.9 % of a core"), "{}", shown(&found));
    // Either process may be that of the loop, or neither is.
    for processes in [&[("process:80", 0.97), ("process:81", 0.97)][..], &[("process:81", 0.99)]] {
        let found = observed(processes);
        let is_alone = processes.len() == 1;
        assert!(rules(&found).contains(&"cpu") != is_alone, "{processes:?}: {}", shown(&found));
    }
}

#[test]
fn a_busy_loop_that_delays_nothing_is_not_named() {
    // Below its capacity nothing waits.
    for load in [Load::Ramp(24.0, 24.0, 40), Load::Ramp(2.0, 24.0, 60)] {
        let mut run = LOOP.under(load).run;
        observed_loop(&mut run, |_| 0.97, 0.98);
        assert!(!rules(&findings(&run)).contains(&"event-loop"), "{load:?}: {}", shown(&findings(&run)));
    }
    // Delayed by something else, and half idle.
    let mut run = PLACES.under(RAMP).run;
    observed_loop(&mut run, |second| 0.2 + 0.004 * second as f64, 0.98);
    assert!(!rules(&findings(&run)).contains(&"event-loop"), "{}", shown(&findings(&run)));
}

fn lookups(run: &mut Run, count: impl Fn(u64) -> f64) {
    gauge("node:80", "work").role(Role::RuntimeWork).label("type", "look-ups of names").each_second(run, count);
    gauge("node:80", "work_max").role(Role::RuntimeWorkMax).label("type", "look-ups of names").each_second(run, |_| 2.0);
}

#[test]
fn lookups_that_queue_for_the_runtimes_threads_are_named() {
    let fluid = PLACES.under(RAMP);
    let mut run = fluid.run.clone();
    lookups(&mut run, |second| 0.9 * fluid.open[second as usize]);
    let found = findings(&run);
    let first = &found[0];
    assert!(first.rule == "runtime-work" && first.confidence == Confidence::High, "{}", shown(&found));
    assert!(first.claim.contains("has for look-ups of names") && first.claim.ends_with("and 2 can run at a time"), "{}", shown(&found));
    // 0.09 look-ups per request, at 40/s.
    let faster = "Work that takes longer than under low load. Ruled out: at the work per request of low load";
    assert!(first.alternatives[0].text.starts_with(faster), "{}", shown(&found));
    // Each look-up takes ten times as long from 0:20 on: half of the ramp needs a fifth of the threads.
    let mut run = fluid.run.clone();
    lookups(&mut run, |second| if second < 20 { 0.05 } else { 0.9 } * fluid.open[second as usize]);
    let found = findings(&run);
    let reported = found.iter().find(|finding| finding.rule == "runtime-work").unwrap_or_else(|| panic!("{}", shown(&found)));
    assert!(
        reported.confidence == Confidence::Medium && reported.alternatives[0].text.contains("low load. Not ruled out"),
        "{}",
        shown(&found)
    );
    // As many look-ups as threads, or a few among many requests, delay nothing.
    for other in [1.9, 4.0] {
        let mut run = fluid.run.clone();
        lookups(&mut run, |_| other);
        assert!(!rules(&findings(&run)).contains(&"runtime-work"), "{other}: {}", shown(&findings(&run)));
    }
}

/// Some requests wait elsewhere, but two at a time are served, as many as look up names.
#[test]
fn lookups_are_the_places_that_the_load_shows() {
    let two = System { capacity: 20.0, base: 0.1, is_shared: false };
    let five = System { capacity: 50.0, base: 0.1, is_shared: false };
    for (system, expected) in [(two, "runtime-work"), (five, "effective-concurrency")] {
        let fluid = system.under(Load::Ramp(2.0, 1.5 * system.capacity, 60));
        let mut run = fluid.run.clone();
        let looked_up = |open: f64| f64::min(open, 2.0) + 0.4 * (open - 2.0).max(0.0);
        lookups(&mut run, |second| looked_up(fluid.open[second as usize]));
        let found = findings(&run);
        assert!(found[0].rule == expected && found[0].confidence == Confidence::High, "{expected}: {}", shown(&found));
    }
}

fn threads(run: &mut Run, role: Role, at: &str, under: &str, count: impl Fn(u64) -> f64) {
    let labelled = gauge("jvm:80", "threads").role(role).label("threads", "exec").label("at", at).label("under", under);
    labelled.unit("threads").each_second(run, count);
}

/// Four connections, each held for 100 ms; requests without a connection wait for one.
fn pool_in_a_jvm() -> Run {
    let fluid = PLACES.under(RAMP);
    let mut run = fluid.run.clone();
    let held = |second: u64| f64::min(4.0, fluid.open[second as usize]);
    threads(&mut run, Role::ThreadsWaitingForIo, "PgStatement.execute", "PaymentDao.insert", held);
    let waits = |second: u64| f64::min(16.0, fluid.open[second as usize] - held(second));
    threads(&mut run, Role::ThreadsWaitingForMember, "HikariPool.getConnection", "PaymentDao.insert", waits);
    run
}

#[test]
fn a_pool_with_waiting_threads_is_named_with_the_work_of_its_holders() {
    let run = pool_in_a_jvm();
    let found = findings(&run);
    let first = &found[0];
    assert!(first.rule == "thread-waits" && first.confidence == Confidence::High, "{}", shown(&found));
    let claim = "wait for a free pool member in `HikariPool.getConnection` below `PaymentDao.insert`";
    assert!(first.claim.contains("working threads `exec` in \"jvm:80\"") && first.claim.ends_with(claim), "{}", shown(&found));
    let holders = "waited for the network, a disk or another process in `PgStatement.execute` below `PaymentDao.insert`";
    assert!(first.evidence[1].text.starts_with("in the same time 4 ") && first.evidence[1].text.ends_with(holders), "{}", shown(&found));
}

/// The four connections of an HTTP client are all in calls to a slow service; a log is written to a full pipe below a lock.
#[test]
fn what_the_holders_wait_for_in_the_same_call_is_the_deeper_cause() {
    let fluid = PLACES.under(RAMP);
    let of = |role: Role, at: &str, holders: Role| {
        let mut run = fluid.run.clone();
        let of =
            |role: Role, wait: &str| gauge("jvm:80", "threads").role(role).label("wait", wait).label("threads", "exec").unit("threads");
        let placed = |role: Role, wait: &str| of(role, wait).label("at", at).label("under", "Shop.buy");
        placed(role, "pool").each_second(&mut run, |second| (fluid.open[second as usize] - 4.0).clamp(0.0, 16.0));
        placed(holders, "io").each_second(&mut run, |second| fluid.open[second as usize].min(4.0));
        findings(&run)
    };
    let found = of(Role::ThreadsWaitingForMember, "HttpClient.execute", Role::ThreadsWaitingForIo);
    let claim = "in `HttpClient.execute` below `Shop.buy`; the 4 that have one wait there for the network, a disk or another process";
    assert!(found[0].rule == "thread-waits" && found[0].claim.ends_with(claim), "{}", shown(&found));
    assert!(found[0].next.contains("answers late"), "{}", found[0].next);
    let found = of(Role::ThreadsWaitingForLock, "Logger.info", Role::ThreadsWaitingForIo);
    assert!(
        found[0].claim.ends_with("; the thread that has it waits there for the network, a disk or another process"),
        "{}",
        shown(&found)
    );
    // They compute.
    let found = of(Role::ThreadsWaitingForLock, "Logger.info", Role::ThreadsOnCpu);
    assert!(found[0].rule == "thread-waits" && found[0].claim.ends_with("below `Shop.buy`"), "{}", shown(&found));
}

/// Each request has a goroutine that waits for another one, and eight are there at any load. Requests wait for the lock of a log.
#[test]
fn a_lock_is_compared_with_the_requests_where_each_has_several_threads() {
    let fluid = PLACES.under(RAMP);
    let mut run = fluid.run.clone();
    let open = |second: u64| fluid.open[second as usize];
    threads(&mut run, Role::ThreadsWaitingForOther, "http.HandlerFunc.ServeHTTP", "gateway.ServeHTTP", open);
    threads(&mut run, Role::ThreadsWaitingForOther, "errgroup.(*Group).Wait", "server.Run", |_| 8.0);
    threads(&mut run, Role::ThreadsWaitingForLock, "zerolog.(*Event).Msg", "server.Log", |second| (open(second) - 4.0).max(0.0));
    let found = findings(&run);
    assert!(found[0].rule == "thread-waits" && found[0].claim.contains("wait for a lock in `zerolog.(*Event).Msg`"), "{}", shown(&found));
    assert_eq!(found[0].confidence, Confidence::High, "{}", shown(&found));
}

/// The end of the run is no low load with the same number of waiters.
#[test]
fn requests_at_the_end_of_the_run_still_wait_for_the_lock() {
    let fluid = PLACES.under(Load::RampAndRest(2.0, 120.0, 24, 8));
    let mut run = fluid.run.clone();
    threads(&mut run, Role::ThreadsWaitingForLock, "ReentrantLock.lock", "Stock.take", |second| {
        (fluid.open[second as usize] - 4.0).max(0.0)
    });
    let found = findings(&run);
    assert!(rules(&found).first() == Some(&"thread-waits"), "{}", shown(&found));
    // A lock passes one request at a time, so the number of concurrent requests is no evidence about it.
    assert!(!rules(&found).contains(&"effective-concurrency"), "{}", shown(&found));
}

/// On a ramp some requests wait by chance long before the pool is the limit.
#[test]
fn a_few_early_waits_do_not_hide_the_pool() {
    let (mut run, fluid) = (pool_in_a_jvm(), PLACES.under(RAMP));
    let waits = |second: u64| if second < 10 { 0.0 } else { f64::max(3.0, fluid.open[second as usize] - 4.0) };
    threads(&mut run, Role::ThreadsWaitingForMember, "HikariPool.getConnection", "PaymentDao.insert", waits);
    let found = findings(&run);
    assert!(rules(&found).first() == Some(&"thread-waits"), "{}", shown(&found));
}

#[test]
fn a_database_that_occupies_the_members_ranks_first() {
    let (mut run, fluid) = (pool_in_a_jvm(), PLACES.under(RAMP));
    let active = |second: u64| f64::min(4.0, fluid.open[second as usize]);
    gauge("pg", "active").role(Role::SessionsActive).each_second(&mut run, active);
    let waits = gauge("pg", "sessions").role(Role::SessionsWaitingForLock).label("wait", "Lock:tuple");
    waits.each_second(&mut run, |second| if fluid.open[second as usize] > 6.0 { 3.6 } else { 0.1 });
    let found = findings(&run);
    let place = |rule: &str| rules(&found).iter().position(|other| *other == rule);
    assert!(place("database-waits") < place("thread-waits") && place("database-waits").is_some(), "{}", shown(&found));
}

#[test]
fn threads_that_wait_at_any_load_or_without_waiting_requests_are_not_named() {
    // Four workers wait for jobs, regardless of the load.
    let mut run = PLACES.under(RAMP).run;
    threads(&mut run, Role::ThreadsWaitingForOther, "Condition.await", "Jobs.next", |_| 4.0);
    assert!(!rules(&findings(&run)).contains(&"thread-waits"), "{}", shown(&findings(&run)));
    // More threads wait there than there are requests.
    let mut run = PLACES.under(RAMP).run;
    threads(&mut run, Role::ThreadsWaitingForLock, "Cache.refresh", "Cache.run", |second| 20.0 * second as f64);
    assert!(!rules(&findings(&run)).contains(&"thread-waits"), "{}", shown(&findings(&run)));
    // No request is delayed.
    let fluid = PLACES.under(Load::Ramp(2.0, 36.0, 60));
    let mut run = fluid.run.clone();
    threads(&mut run, Role::ThreadsWaitingForLock, "Stock.take", "Shop.buy", |second| fluid.open[second as usize]);
    assert!(!rules(&findings(&run)).contains(&"thread-waits"), "{}", shown(&findings(&run)));
}

/// The four places are request threads, which wait for another service.
#[test]
fn request_threads_that_are_all_in_a_call_are_the_limit() {
    let fluid = PLACES.under(RAMP);
    let of = |role: Role, load: Load, least: f64| {
        let fluid = PLACES.under(load);
        let mut run = fluid.run.clone();
        let busy = |second: u64| f64::clamp(fluid.open[second as usize], least, 4.0);
        threads(&mut run, role, "get api.py", "verify auth.py", busy);
        findings(&run)
    };
    let found = of(Role::ThreadsWaitingForIo, RAMP, 0.0);
    let first = &found[0];
    assert!(first.rule == "busy-threads" && first.confidence == Confidence::Medium, "{}", shown(&found));
    let claim = "All 4 threads `exec` of \"jvm:80\" are busy while requests wait: 4 of them are in `get api.py` below `verify auth.py`";
    assert!(first.claim == claim, "{}", shown(&found));
    // The number of requests at a time is its evidence.
    assert!(!rules(&found).contains(&"effective-concurrency") && first.evidence.len() > 1, "{}", shown(&found));
    assert!(fluid.open.iter().any(|open| *open > 8.0));
    // They compute, are as many without a load, or may be idle.
    for (role, least) in [(Role::ThreadsOnCpu, 0.0), (Role::ThreadsWaitingForIo, 4.0), (Role::ThreadsWaitingForOther, 0.0)] {
        let found = of(role, RAMP, least);
        assert!(!rules(&found).contains(&"busy-threads"), "{role:?}: {}", shown(&found));
    }
    // Nothing waits for a thread.
    let found = of(Role::ThreadsWaitingForIo, Load::Ramp(2.0, 36.0, 60), 0.0);
    assert!(!rules(&found).contains(&"busy-threads"), "{}", shown(&found));
}

/// CPU seconds per request in three functions, in seconds without and with waiting.
type Costs = [(f64, f64); 3];

/// A service whose work waits from half of the ramp on.
fn profiled(system: System, load: Load, costs: Costs) -> Run {
    let fluid = system.under(load);
    let mut run = fluid.run.clone();
    let names = [("lookup node:dns", "send statsd.mjs:4 ← decide shop.mjs:9"), ("hash shop.mjs:3", "decide shop.mjs:9"), ("(other)", "")];
    for ((name, under), (free, held)) in names.into_iter().zip(costs) {
        let function = gauge("node:80", "function_cpu").role(Role::FunctionCpu).label("function", name).label("under", under);
        let waits = |second: usize| fluid.open[second] > 1.5 * system.base * system.capacity + 1.0;
        function.each_second(&mut run, |second| fluid.ended[second as usize] * if waits(second as usize) { held } else { free });
    }
    run
}

fn growth_of(run: &Run) -> Option<Finding> {
    findings(run).into_iter().find(|finding| finding.rule == "cpu-growth")
}

#[test]
fn the_function_with_growing_time_per_request_is_named() {
    let run = profiled(PLACES, RAMP, [(0.001, 0.006), (0.004, 0.005), (0.001, 0.001)]);
    let found = growth_of(&run).unwrap_or_else(|| panic!("{}", shown(&findings(&run))));
    let queue = "A queue that itself costs CPU time, so that the growth follows from the wait. Not ruled out";
    assert!(found.confidence == Confidence::Medium && found.alternatives[0].text.starts_with(queue), "{}", shown(&[found]));
    let place = "of the growth is in `lookup node:dns` ← `send statsd.mjs:4` ← `decide shop.mjs:9`";
    assert!(found.claim.contains("takes more CPU time of \"node:80\"") && found.claim.ends_with(place), "{}", shown(&[found]));
    // Nearly as much growth in another function.
    let run = profiled(PLACES, RAMP, [(0.001, 0.006), (0.002, 0.006), (0.001, 0.001)]);
    let found = growth_of(&run).unwrap_or_else(|| panic!("{}", shown(&findings(&run))));
    assert!(found.confidence == Confidence::Low && found.claim.contains("`lookup node:dns`"), "{}", shown(&[found]));
}

#[test]
fn more_requests_with_constant_cpu_time_are_no_growth() {
    let usual = [(0.004, 0.004), (0.004, 0.004), (0.001, 0.001)];
    // Five times as many requests per second, or users who wait for each other.
    for load in [RAMP, Load::Users(1, 30, 60)] {
        let run = profiled(PLACES, load, usual);
        assert!(growth_of(&run).is_none(), "{load:?}: {}", shown(&findings(&run)));
    }
    // Less per request.
    assert!(growth_of(&profiled(PLACES, RAMP, [(0.008, 0.004), (0.004, 0.004), (0.001, 0.001)])).is_none());
    // Spread over many unknown functions.
    assert!(growth_of(&profiled(PLACES, RAMP, [(0.002, 0.0021), (0.002, 0.0021), (0.001, 0.009)])).is_none());
    // Too few samples: a few milliseconds in total.
    assert!(growth_of(&profiled(PLACES, RAMP, [(1e-6, 9e-6), (1e-6, 1e-6), (1e-6, 1e-6)])).is_none());
}

#[test]
fn a_function_with_growing_time_is_not_named_if_nothing_waits() {
    let fluid = PLACES.under(Load::Ramp(2.0, 36.0, 60));
    let mut run = fluid.run.clone();
    let function = gauge("node:80", "function_cpu").role(Role::FunctionCpu).label("function", "hash").label("under", "");
    function.each_second(&mut run, |second| fluid.ended[second as usize] * if second < 30 { 0.001 } else { 0.02 });
    assert!(growth_of(&run).is_none(), "{}", shown(&findings(&run)));
}

/// Under a constant load 60 % above the limit, work waits from the first second on. The seconds in which it has not waited for long once counted as free.
#[test]
fn a_function_is_not_compared_with_seconds_of_a_shorter_wait() {
    let fluid = PLACES.under(Load::Ramp(64.0, 64.0, 60));
    let mut run = fluid.run.clone();
    let function = gauge("node:80", "function_cpu").role(Role::FunctionCpu).label("function", "hash").label("under", "");
    function.each_second(&mut run, |second| fluid.ended[second as usize] * if second < 8 { 0.001 } else { 0.02 });
    assert!(growth_of(&run).is_none(), "{}", shown(&findings(&run)));
}

/// Twenty users all the time, and a pool of two whose members are seldom held for long. No load is low, and waits scatter. Requests spend this share of their
/// time waiting for a member.
fn constant_users(role: Role, share: f64, at_work_more: f64, seed: u64) -> Vec<Finding> {
    let steps = vec![Step { pause: Some(Service::Exponential(0.15)), ..step("Find", 0, Service::Bimodal(0.03, 0.02, 1.5)) }];
    let profile = LoadProfile::Closed { stages: vec![ClosedStage { from: 20, to: 20, duration_ns: 45 * SECOND }] };
    let mut run = simulate(&Target { slots: vec![2], steps }, profile, seed);
    let in_flight = |slice: &Snapshot| slice.generator.iter().map(|worker| worker.in_flight_ns).sum::<u64>() as f64 / 1e9;
    let in_system: Vec<f64> = run.slices.iter().map(in_flight).collect();
    let of = |second: u64| in_system.get(second as usize).copied().unwrap_or(0.0);
    threads(&mut run, role, "HikariDataSource.getConnection", "Call.execute", |second| share * of(second));
    threads(&mut run, Role::ThreadsWaitingForIo, "Select.fetch", "Call.execute", |second| {
        (1.0 - share).max(0.0) * of(second) + at_work_more
    });
    findings(&run)
}

#[test]
fn a_wait_for_a_pool_that_is_there_in_all_of_a_constant_load_is_named() {
    for seed in 0..6 {
        let found = constant_users(Role::ThreadsWaitingForMember, 0.87, 0.0, seed);
        assert_eq!((found[0].rule.as_str(), found[0].confidence), ("thread-waits", Confidence::High), "{seed}: {}", shown(&found));
        assert!(found[0].claim.contains("wait for a free pool member in `HikariDataSource.getConnection`"), "{}", shown(&found));
        // A small part of the time, threads of other work next to them, and more threads than requests.
        for (share, more) in [(0.3, 0.0), (0.87, 25.0), (3.0, 0.0)] {
            let found = constant_users(Role::ThreadsWaitingForMember, share, more, seed);
            assert!(!rules(&found).contains(&"thread-waits"), "{seed} {share} {more}: {}", shown(&found));
        }
    }
}

/// Eight threads of gunicorn that wait for two connections, while 209 requests are in the system: the others wait outside of the process.
#[test]
fn threads_are_compared_with_the_requests_in_their_process() {
    let fluid = System { capacity: 8.0, base: 0.1, is_shared: true }.under(Load::Ramp(2.0, 16.0, 60));
    let mut run = fluid.run.clone();
    let (all, in_use) = (|second: u64| fluid.open[second as usize].min(8.0), |second: u64| fluid.open[second as usize].min(2.0));
    threads(&mut run, Role::ThreadsWaitingForIo, "PgStatement.execute", "search runs.py:40", in_use);
    threads(&mut run, Role::ThreadsWaitingForMember, "_connection_for_bind session.py", "search runs.py:40", |second| {
        all(second) - in_use(second)
    });
    let most = fluid.open.iter().copied().fold(0.0, f64::max);
    assert!(most > 100.0, "{most}");
    let found = findings(&run);
    assert_eq!(found[0].rule, "thread-waits", "{}", shown(&found));
}
