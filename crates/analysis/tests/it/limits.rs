//! The resource that is named as the limit under every load shape, and that none is named if none is at its limit.

use loadstone_analysis::{Confidence, Finding, ResourceKind, conclude};
use loadstone_metrics::{NoticeKind, PoolMembers, Role, SignalNotice};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::fluid::{FluidRun, Load, System, constant};
use crate::pipeline::{Pipeline, healthy, simulate};
use crate::simulation::Service;
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge};

/// 40 ms of one core for each registration: 25 per second can pass.
const HASHING: System = System { capacity: 25.0, base: 0.04, is_shared: true };

const SHAPES: [Load; 5] =
    [Load::Ramp(2.0, 35.0, 60), Load::Ramp(40.0, 40.0, 40), Load::Users(1, 30, 60), Load::Users(20, 20, 40), Load::Ramp(5.0, 30.0, 40)];

/// CPU time of a process that needs `each_s` per registration, and the readings of its threads.
fn observe_cpu(fluid: &FluidRun, each_s: f64, busiest: Option<f64>) -> Run {
    let mut run = fluid.run.clone();
    let used = |second: u64| fluid.ended[second as usize] * each_s + 0.005 * (second % 3) as f64;
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, used);
    counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 0.05);
    gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 9.0);
    if let Some(share) = busiest {
        gauge("process:8080", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| used(second) * share);
    }
    run
}

#[test]
fn one_saturated_core_is_named_under_every_load_shape() {
    for load in SHAPES {
        // An event loop, read with and without threads; a runtime limited to one core, whose work moves between threads.
        for busiest in [Some(1.0), None, Some(0.6)] {
            let found = findings(&observe_cpu(&HASHING.under(load), 0.04, busiest));
            let first = found.first().unwrap_or_else(|| panic!("{load:?} {busiest:?}: nothing"));
            assert!(first.rule == "cpu" && first.claim.contains("uses one core fully"), "{load:?}: {}", shown(&found));
            assert!(first.evidence.iter().any(|evidence| evidence.text.contains("of CPU time per request")), "{load:?}: {}", shown(&found));
            assert!(found.iter().all(|finding| finding.rule != "effective-concurrency"), "{load:?}: {}", shown(&found));
            assert!(busiest != Some(1.0) || first.confidence == Confidence::High, "{load:?}: {}", shown(&found));
        }
    }
}

/// Three fifths of a process's CPU time in one function, and a second runtime of another process.
#[test]
fn the_function_that_uses_the_core_is_named_if_the_runtime_was_profiled() {
    let fluid = HASHING.under(SHAPES[0]);
    let mut run = observe_cpu(&fluid, 0.04, Some(1.0));
    let mut function = |observer: &str, name: &str, under: &str, each_s: f64| {
        let signal = gauge(observer, "function_cpu").role(Role::FunctionCpu).label("function", name).label("under", under);
        signal.each_second(&mut run, |second| fluid.ended[second as usize] * each_s);
    };
    function("jvm:8080", "SHA2.implCompress", "Risk.fingerprint ← Risk.score", 0.024);
    function("jvm:8080", "StringBuilder.append", "Shop.render", 0.006);
    function("jvm:8080", "(other)", "", 0.01);
    function("go", "walk", "main", 0.004);
    let found = findings(&run);
    let first = &found[0];
    let place = "60 % of its CPU time is in `SHA2.implCompress` below `Risk.fingerprint`";
    assert!(first.rule == "cpu" && first.claim.ends_with(place), "{}", shown(&found));
    assert!(first.next.starts_with("Make `SHA2.implCompress` below `Risk.fingerprint` cheaper"), "{}", first.next);
    assert!(first.evidence.iter().any(|evidence| evidence.text.starts_with("stack samples: 0.6")), "{}", shown(&found));
    // Both kinds of requests end equally often, with 99 samples per second of each.
    let ended: f64 = 2.0 * fluid.ended.iter().sum::<f64>();
    let samples = conclude(&run).profiles[0].samples_each;
    assert!((samples / (99.0 * ended) - 1.0).abs() < 0.05, "{samples} of {ended} requests");
    // A runtime whose stacks are sampled twice a second: about twenty samples, so one digit.
    gauge("jvm:8080", "function_samples").role(Role::FunctionSamples).each_second(&mut run, |_| 2.0);
    let profiles = conclude(&run).profiles;
    let looked_at = profiles.iter().find(|profile| profile.observer == "jvm:8080").unwrap().samples_each;
    assert!((looked_at / (2.0 * ended) - 1.0).abs() < 0.05, "{looked_at} of {ended} requests");
    let of_few = "60 % of its CPU time is in `SHA2.implCompress` below `Risk.fingerprint`";
    assert!(findings(&run)[0].claim.ends_with(of_few), "{}", shown(&findings(&run)));
}

#[test]
fn the_share_of_garbage_collection_in_a_saturated_core_is_reported_if_large() {
    for (share, is_said) in [(0.126, true), (0.03, false)] {
        let mut run = observe_cpu(&HASHING.under(SHAPES[0]), 0.04, Some(1.0));
        counter("app", "jvm_gc_pause_seconds_sum").role(Role::GarbageCollection).each_second(&mut run, |_| share);
        let found = findings(&run);
        let said = found[0].evidence.iter().any(|evidence| evidence.text.contains("garbage collection took 12.6 % of the time"));
        assert!(found[0].rule == "cpu" && said == is_said, "{}", shown(&found));
    }
}

#[test]
fn the_cpu_time_per_request_is_reported() {
    let system = System { is_shared: false, ..HASHING };
    let found = findings(&observe_cpu(&system.under(SHAPES[0]), 0.04, Some(1.0)));
    let (_, reported) = found[0].claim.split_once("\"Register\" takes ").unwrap_or_else(|| panic!("{}", shown(&found)));
    let milliseconds: f64 = reported.split_once(" ms of CPU time").unwrap().0.parse().unwrap();
    assert!((milliseconds / 40.0 - 1.0).abs() < 0.02, "{}", shown(&found));
}

#[test]
fn all_allowed_cores_of_a_process_are_a_limit_and_half_of_them_are_not() {
    let system = System { capacity: 50.0, ..HASHING };
    let mut run = observe_cpu(&system.under(Load::Ramp(5.0, 80.0, 60)), 0.04, Some(0.3));
    run.info.host.cores = 8;
    gauge("process:8080", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 2.0);
    let found = findings(&run);
    assert!(found[0].claim.starts_with("\"process:8080\" uses 2 cores fully"), "{}", shown(&found));
    gauge("process:8080", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 4.0);
    // Exactly two of four: CPU time explains all of the time under low load, so a setting of the runtime is likely.
    let found = findings(&run);
    assert!(found[0].confidence <= Confidence::Medium, "{}", shown(&found));
    let half = observe_cpu(&system.under(Load::Ramp(5.0, 80.0, 60)), 0.021, Some(0.3));
    assert!(findings(&half).iter().all(|finding| finding.rule != "cpu"), "{}", shown(&findings(&half)));
}

#[test]
fn a_single_computing_place_is_a_saturated_core_even_if_other_threads_use_more() {
    // Threads that take turns at an interpreter's lock, none of them with a separate core, and some concurrent work.
    let is_core = |each_s: f64, load: Load| {
        let found = findings(&observe_cpu(&HASHING.under(load), each_s, Some(0.3)));
        found.first().is_some_and(|first| first.rule == "cpu" && first.claim.contains("uses one core fully"))
    };
    for load in [SHAPES[0], SHAPES[2], SHAPES[4]] {
        assert!(is_core(0.046, load), "{load:?}");
        // Far more than one place can use, or less.
        assert!(!is_core(0.06, load) && !is_core(0.024, load), "{load:?}");
    }
}

#[test]
fn a_process_whose_cores_are_used_by_others_is_reported_as_such() {
    // Requests take ten times as long from 0:20 on, while the process's threads wait for a core.
    let starved = |used: f64, waits: f64| {
        let mut run = constant(60, 20, |second| (if second < 20 { 10 * MS } else { 100 * MS }, 0));
        run.info.host.cores = 2;
        counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| if second < 20 { 0.2 } else { used });
        counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(
            &mut run,
            |second| {
                if second < 20 { 0.02 } else { waits }
            },
        );
        gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 30.0);
        findings(&run)
    };
    let is_told = |found: &[Finding]| found.iter().any(|finding| finding.claim.contains("other programs use the"));
    let found = starved(0.11, 1.8);
    assert!(found[0].claim.starts_with("From 0:20 on other programs use the 2 cores of the machine: 1.8"), "{}", shown(&found));
    // They wait hardly longer than they run, or only for a small part of the requests in the system.
    for (used, waits) in [(0.7, 0.9), (0.05, 0.5)] {
        let found = starved(used, waits);
        assert!(!is_told(&found), "{used} {waits}: {}", shown(&found));
    }
}

#[test]
fn the_cores_left_by_others_are_a_limit_if_threads_wait_for_the_rest() {
    // 34 ms of CPU time per request at 50 per second are 1.7 of two cores; the threads wait for the missing part.
    let system = System { capacity: 50.0, ..HASHING };
    let crowded = |each_s: f64, waits: &dyn Fn(f64) -> f64| {
        let fluid = system.under(Load::Ramp(5.0, 80.0, 60));
        let mut run = fluid.run.clone();
        run.info.host.cores = 2;
        counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| fluid.ended[second as usize] * each_s);
        counter("process:8080", "run_delay")
            .role(Role::ProcessRunDelay)
            .each_second(&mut run, |second| waits(fluid.ended[second as usize] / 50.0));
        gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 30.0);
        gauge("process:8080", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| 0.3);
        findings(&run)
    };
    let found = crowded(0.034, &|load| 0.4 * load);
    assert!(found[0].claim.starts_with("\"process:8080\" uses 1.6"), "{}", shown(&found));
    assert!(found[0].claim.contains("of the 2 cores, all that other programs leave it"), "{}", shown(&found));
    // Slightly more than half of the machine, and many threads wait for the rest.
    let found = crowded(0.026, &|load| 20.0 * load.powi(8));
    assert!(found[0].claim.contains("of the 2 cores, all that other programs leave it"), "{}", shown(&found));
    // The same use without waiting threads; or waiting threads with hardly any use.
    for (each_s, waits) in [(0.034, 0.05), (0.02, 1.2)] {
        let found = crowded(each_s, &|load| waits * load);
        assert!(found.iter().all(|finding| !finding.claim.contains("others leave")), "{}", shown(&found));
    }
}

/// The generator may be restricted to one core of a machine with two.
#[test]
fn the_cores_of_the_machine_are_counted_and_not_those_of_the_generator() {
    let system = System { capacity: 50.0, ..HASHING };
    let mut run = observe_cpu(&system.under(Load::Ramp(5.0, 80.0, 60)), 0.04, Some(0.3));
    run.info.host.cores = 1;
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
    let found = findings(&run);
    assert!(found[0].claim.starts_with("\"process:8080\" uses all 2 cores of the machine"), "{}", shown(&found));
}

/// An interpreter with one lock for all of its threads, on two cores, close to a real recording: the work without the lock grows slightly
/// with the load.
const INTERPRETER: [f64; 22] =
    [0.09, 0.15, 0.19, 0.26, 0.31, 0.36, 0.43, 0.48, 0.56, 0.59, 0.66, 0.71, 0.75, 0.83, 0.87, 0.94, 0.96, 1.01, 0.99, 1.03, 1.04, 1.04];

#[test]
fn a_core_whose_use_hardly_grows_while_the_load_does_is_saturated() {
    let fluid = System { capacity: 42.0, base: 0.04, is_shared: true }.under(Load::Ramp(2.0, 60.0, 22));
    let observed = |delay: f64| {
        let mut run = fluid.run.clone();
        let used = |second: u64| INTERPRETER[(second as usize).min(21)];
        counter("notes", "cpu").role(Role::ProcessCpu).each_second(&mut run, used);
        counter("notes", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| if second < 14 { 0.05 } else { delay });
        gauge("notes", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 40.0);
        gauge("notes", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| 0.1 * used(second));
        findings(&run)
    };
    let found = observed(0.7);
    assert!(found[0].rule == "cpu" && found[0].claim.contains("it is limited to one"), "{}", shown(&found));
    assert!(found.iter().all(|finding| finding.rule != "effective-concurrency"), "{}", shown(&found));
}

/// A core that is busy independently of the load, or that delays nothing, is no limit.
#[test]
fn a_busy_core_that_delays_nothing_is_not_named() {
    let busy = |run: &mut Run, cores: &dyn Fn(u64) -> f64| {
        counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(run, cores);
        counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(run, |_| 0.02);
        gauge("process:8080", "threads").role(Role::ProcessThreads).each_second(run, |_| 9.0);
    };
    // Below the capacity nothing waits, at constant load and on a ramp.
    for load in [Load::Ramp(24.0, 24.0, 40), Load::Ramp(2.0, 24.0, 60)] {
        let mut run = HASHING.under(load).run;
        busy(&mut run, &|_| 0.99);
        assert!(findings(&run).is_empty(), "{load:?}: {}", shown(&findings(&run)));
    }
    // A background task runs throughout, and a pool of three is the limit.
    let system = System { capacity: 75.0, base: 0.04, is_shared: false };
    let mut run = system.under(Load::Ramp(4.0, 120.0, 60)).run;
    busy(&mut run, &|_| 1.0);
    let found = findings(&run);
    assert!(found[0].rule == "effective-concurrency" && found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
}

/// Low-priority programs use the rest of a machine, and no thread waits for a core.
#[test]
fn a_machine_filled_by_others_is_no_limit_for_a_system_that_hardly_uses_it() {
    let pool = System { capacity: 75.0, base: 0.04, is_shared: false };
    let full = |delay: f64| {
        let mut run = pool.under(Load::Ramp(4.0, 120.0, 60)).run;
        run.info.host.cores = 2;
        let idle = counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle);
        idle.each_second(&mut run, |second| if second < 34 { 1.5 } else { 0.02 });
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.1);
        counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| delay);
        findings(&run)
    };
    let found = full(0.05);
    assert!(found[0].rule == "effective-concurrency" && found[0].claim.contains("about 3 at a time"), "{}", shown(&found));
    // The threads wait for a core.
    let found = full(5.0);
    assert!(found[0].rule == "cpu" && found[0].claim.contains("machine's CPU is saturated"), "{}", shown(&found));
}

/// The CPU use of a process behind a pool, or at the end of a ramp, may be about one core by chance.
#[test]
fn about_one_core_by_chance_is_no_limit() {
    let pool = System { capacity: 75.0, base: 0.04, is_shared: false };
    let found = findings(&observe_cpu(&pool.under(Load::Ramp(4.0, 120.0, 60)), 0.0132, None));
    assert!(found[0].rule == "effective-concurrency" && found[0].confidence == Confidence::High, "{}", shown(&found));
    // Times grow for another reason, while throughput follows the load.
    let growing = |second: u32| {
        let rate = 10 + u64::from(second) * 95 / 60;
        Slice::new(second).arrivals(rate).requests("Register", rate, 10 * MS + u64::from(second) * MS).done()
    };
    let profile =
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: 10.0, to: 105.0, duration_ns: 60 * SECOND, timing: Timing::Even }] };
    let mut run = synthetic::run_of(synthetic::plan(profile), (0..60).map(growing).collect());
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 0.01 * (10 + second * 95 / 60) as f64);
    counter("process:8080", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 0.05);
    assert!(findings(&run).iter().all(|finding| finding.rule != "cpu"), "{}", shown(&findings(&run)));
}

#[test]
fn a_single_request_is_limited_by_a_pool_if_the_process_was_idle() {
    let system = System { capacity: 75.0, base: 0.04, is_shared: true };
    let fluid = system.under(Load::Ramp(4.0, 120.0, 60));
    let found = findings(&observe_cpu(&fluid, 0.004, None));
    assert!(found[0].claim.contains("served about") && found[0].claim.contains("a pool, lock or limit"), "{}", shown(&found));
    assert!(found[0].alternatives[0].text.contains("Ruled out: \"process:8080\" used 0.3"), "{}", shown(&found));
    // Without the process, the CPU is an equally good explanation.
    let found = findings(&fluid.run);
    assert!(found[0].claim.contains("a lock or cores of that number") && found[0].confidence == Confidence::Low, "{}", shown(&found));
}

#[test]
fn a_non_integer_limit_is_a_rate_limiter_or_a_partially_held_place() {
    // 17 per second of 100 ms each: 1.7 at a time; and 0.6.
    for capacity in [17.0, 6.0] {
        let system = System { capacity, base: 0.1, is_shared: false };
        let found = findings(&system.under(Load::Ramp(1.0, capacity * 2.0, 80)).run);
        let first = found.first().unwrap_or_else(|| panic!("{capacity}: nothing"));
        assert!(first.rule == "rate-limit" && first.claim.contains(&format!("stops at {capacity:.0}")), "{}", shown(&found));
        assert!(found.iter().all(|finding| !finding.claim.contains("at a time")), "{}", shown(&found));
        // A lock that is held for 59 of 100 ms passes 17 per second, too; 6 per second are fewer than any lock would pass.
        assert_eq!(first.claim.contains("a lock that each holds for 58.8 ms of its 100 ms"), capacity == 17.0, "{}", shown(&found));
    }
    let pool = System { capacity: 20.0, base: 0.1, is_shared: false };
    let found = findings(&pool.under(Load::Ramp(1.0, 40.0, 80)).run);
    assert!(found[0].claim.contains("served about 2 at a time: a pool"), "{}", shown(&found));
}

/// Three connections, each held for 60 ms of the 66 ms of a registration: 50 per second can pass, which are 3.3 at a time.
const THREE_CONNECTIONS: System = System { capacity: 50.0, base: 0.066, is_shared: false };

/// Its database, with `in_use` sessions depending on the open registrations.
fn observe_sessions(in_use: impl Fn(u64, f64) -> f64) -> Vec<Finding> {
    let fluid = THREE_CONNECTIONS.under(Load::Ramp(2.0, 80.0, 40));
    let mut run = fluid.run.clone();
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |second| in_use(second, fluid.open[second as usize]));
    gauge("postgres", "idle").role(Role::SessionsIdleInTransaction).each_second(&mut run, |_| 0.0);
    findings(&run)
}

#[test]
fn places_that_hold_a_session_each_are_confirmed_by_the_sessions_in_use() {
    let found = observe_sessions(|_, open| f64::min(open * 0.06 / 0.066, 3.0));
    let first = &found[0];
    assert!(
        first.rule == "effective-concurrency" && first.claim.contains("served about 3 at a time, each with one of the 3"),
        "{}",
        shown(&found)
    );
    assert!(first.claim.contains("a pool of 3 connections") && !first.claim.contains("rate limit"), "{}", shown(&found));
    assert!(first.alternatives.iter().all(|other| !other.text.contains("Not ruled out: it would")), "{}", shown(&found));
    assert!(found.iter().all(|finding| finding.rule != "rate-limit"), "{}", shown(&found));
}

#[test]
fn sessions_that_fluctuate_or_do_not_follow_the_load_are_no_places() {
    let never = |found: &[Finding]| found.iter().all(|finding| !finding.claim.contains("sessions of \"postgres\""));
    // A lock in front of the database: 1.5 sessions on average, and sometimes three.
    let vary = observe_sessions(|second, open| if open < 3.0 { 0.4 * open } else { [1.0, 2.0, 1.0, 3.0, 1.0, 2.0][second as usize % 6] });
    assert!(never(&vary), "{}", shown(&vary));
    let always = observe_sessions(|_, _| 3.0);
    assert!(never(&always), "{}", shown(&always));
}

/// A pool of ten in front of a system, with its own metrics: open requests beyond ten wait for a connection.
pub(crate) fn pooled(fluid: &FluidRun, size: f64) -> Run {
    let mut run = fluid.run.clone();
    let hikari = |metric, role| gauge("app", metric).role(role).part("shop");
    hikari("hikaricp_connections", Role::PoolSize).each_second(&mut run, |_| size);
    hikari("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, |second| fluid.open[second as usize].min(size));
    hikari("hikaricp_connections_idle", Role::PoolIdle).each_second(&mut run, |second| (size - fluid.open[second as usize]).max(0.0));
    hikari("hikaricp_connections_pending", Role::PoolWaiting)
        .each_second(&mut run, |second| (fluid.open[second as usize] - size).max(0.0).floor());
    run
}

#[test]
fn a_pool_with_increasing_hold_times_is_not_the_cause() {
    // The same pool in front of a core with a capacity of 25 per second: 40 ms each at first, and then 400.
    let fluid = HASHING.under(Load::Ramp(2.0, 40.0, 60));
    let found = findings(&pooled(&fluid, 10.0));
    assert!(found[0].claim.ends_with("the operations that use them have become slow"), "{}", shown(&found));
    assert_eq!(found[0].confidence, Confidence::Low, "{}", shown(&found));
    // With the process observed, its core ranks first, and the pool is a consequence.
    let mut run = pooled(&fluid, 10.0);
    run.signals.extend(observe_cpu(&fluid, 0.04, None).signals);
    let found = findings(&run);
    assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    assert!(found.iter().any(|finding| finding.rule == "connection-pool" && finding.confidence == Confidence::Low), "{}", shown(&found));
}

#[test]
fn three_request_threads_are_named_even_if_their_waiters_are_not_counted() {
    let system = System { capacity: 30.0, base: 0.1, is_shared: true };
    let fluid = system.under(Load::Ramp(2.0, 60.0, 60));
    let mut run = observe_cpu(&fluid, 0.004, Some(0.5));
    let threads = |metric, role| gauge("app", metric).role(role).part("jetty_threads").members(PoolMembers::Threads);
    threads("jetty_threads_busy", Role::PoolInUse).each_second(&mut run, |second| fluid.open[second as usize].min(3.0));
    threads("jetty_threads_config_max", Role::PoolSizeMax).each_second(&mut run, |_| 3.0);
    let found = findings(&run);
    assert!(found[0].rule == "workers" && found[0].claim.starts_with("All 3 threads of \"jetty_threads\" are in use"), "{}", shown(&found));
    // Three of eight are no limit.
    threads("jetty_threads_config_max", Role::PoolSizeMax).each_second(&mut run, |_| 8.0);
    assert!(findings(&run).iter().all(|finding| finding.rule != "workers"), "{}", shown(&findings(&run)));
}

/// Go's database/sql counts only the seconds that were spent waiting.
#[test]
fn seconds_spent_waiting_give_the_number_of_waiters() {
    let system = System { capacity: 100.0, base: 0.1, is_shared: false };
    let fluid = system.under(Load::Ramp(5.0, 150.0, 60));
    let mut run = pooled(&fluid, 10.0);
    run.signals.retain(|series| series.signal.role != Some(Role::PoolWaiting));
    let waited = counter("app", "go_sql_wait_duration_seconds_total").role(Role::PoolWaitTime).part("shop");
    waited.each_second(&mut run, |second| (fluid.open[second as usize] - 10.0).max(0.0));
    let found = findings(&run);
    assert_eq!(found[0].rule, "connection-pool", "{}", shown(&found));
}

/// Ten connections whose sessions are all in the same state from second 20 to 30 while nothing passes, and a process that is idle
/// meanwhile.
fn ten_seconds_of(role: Role, wait: &str) -> Run {
    let held = |second: u64| (20..30).contains(&second);
    let mut run = constant(60, 20, |second| if held(u64::from(second)) { (3 * SECOND, 0) } else { (5 * MS, 0) });
    let sessions = |second: u64| if held(second) { 10.0 } else { 0.1 };
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, sessions);
    gauge("postgres", "sessions").role(role).label("wait", wait).each_second(&mut run, sessions);
    gauge("postgres", "sessions_by_statement")
        .role(Role::SessionsByStatement)
        .label("statement", "select … from orders where note like ?")
        .each_second(&mut run, sessions);
    let pool = |metric, role| gauge("app", metric).role(role).part("shop");
    pool("hikaricp_connections", Role::PoolSize).each_second(&mut run, |_| 10.0);
    pool("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, |second| sessions(second).max(0.2));
    pool("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, |second| if held(second) { 40.0 } else { 0.0 });
    counter("process:8080", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.1);
    run
}

#[test]
fn a_table_locked_for_ten_seconds_ranks_before_the_full_pool() {
    let mut run = ten_seconds_of(Role::SessionsWaitingForLock, "Lock:relation");
    let by = gauge("postgres", "blocked_by")
        .role(Role::SessionsBlockedBy)
        .label("statement", "select … from orders")
        .label("by", "lock table orders");
    by.each_second(&mut run, |second| if (20..30).contains(&second) { 10.0 } else { 0.0 });
    let found = findings(&run);
    assert!(found[0].rule == "database-waits" && found[0].claim.contains("wait for Lock:relation"), "{}", shown(&found));
    let blocker = "behind a session whose last statement was `lock table orders`";
    assert!(found[0].evidence.iter().any(|evidence| evidence.text.contains(blocker)), "{}", shown(&found));
    let others = found[1..].iter().filter(|finding| finding.rule != "change");
    assert!(others.into_iter().all(|finding| finding.confidence == Confidence::Low), "{}", shown(&found));
}

#[test]
fn a_statement_that_occupies_all_busy_sessions_is_named() {
    let found = findings(&ten_seconds_of(Role::SessionsOnCpu, "CPU"));
    assert!(
        found[0].rule == "database-waits" && found[0].claim.contains("run `select … from orders where note like ?`"),
        "{}",
        shown(&found)
    );
    let others = found[1..].iter().filter(|finding| finding.rule != "change");
    assert!(others.into_iter().all(|finding| finding.confidence == Confidence::Low), "{}", shown(&found));
}

/// Two statements without an index: neither has most of the sessions, and together they do.
#[test]
fn two_statements_that_occupy_most_sessions_together_are_both_named() {
    let named = |shares: &[f64]| {
        let mut run = ten_seconds_of(Role::SessionsOnCpu, "CPU");
        run.signals.retain(|series| series.signal.role != Some(Role::SessionsByStatement));
        for (number, share) in shares.iter().enumerate() {
            let each = gauge("postgres", "sessions_by_statement").role(Role::SessionsByStatement);
            let each = each.label("statement", &format!("select {number}"));
            each.each_second(&mut run, |second| if (20..30).contains(&second) { 10.0 * share } else { 0.0 });
        }
        findings(&run)
    };
    let found = named(&[0.4, 0.3, 0.1, 0.1, 0.1]);
    let first = &found[0];
    assert!(first.rule == "database-waits", "{}", shown(&found));
    assert!(first.claim.ends_with("active sessions compute, on average: 4.0 run `select 0`, 3.0 run `select 1`"), "{}", shown(&found));
    assert!(first.evidence.iter().any(|evidence| evidence.text == "3.0 active sessions were in `select 1`"), "{}", shown(&found));
    // Of many statements, a few are no answer.
    let found = named(&[0.2, 0.16, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]);
    assert!(found[0].claim.ends_with("active sessions compute, on average"), "{}", shown(&found));
}

/// The database is not observed as a process, and computes on the machine's last core. Its statement ranks first, and unobserved programs
/// are not blamed.
#[test]
fn a_statement_ranks_before_the_machine_that_it_saturates() {
    let mut run = ten_seconds_of(Role::SessionsOnCpu, "CPU");
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
    let idle = counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle);
    idle.each_second(&mut run, |second| if (18..32).contains(&second) { 0.05 } else { 1.6 });
    let found = findings(&run);
    assert!(found[0].rule == "database-waits" && found[0].claim.contains("`select"), "{}", shown(&found));
    assert!(!shown(&found).contains("processes that are not observed"), "{}", shown(&found));
}

/// Cores are the next limit after sessions that wait for a lock, and the current limit of sessions that compute.
#[test]
fn cores_are_no_next_limit_after_a_computing_statement() {
    let comes_after = |role, wait| {
        let mut run = ten_seconds_of(role, wait);
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        let idle = counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle);
        idle.each_second(&mut run, |second| if (20..30).contains(&second) { 0.8 } else { 1.6 });
        let found = findings(&run);
        assert_eq!(found[0].rule, "database-waits", "{}", shown(&found));
        found[0].evidence.iter().any(|evidence| evidence.text.contains("the 2 cores of the machine would be the next limit"))
    };
    assert!(comes_after(Role::SessionsWaitingForLock, "Lock:relation"));
    assert!(!comes_after(Role::SessionsOnCpu, "CPU"));
}

/// The state of sessions while nothing waits is no finding.
#[test]
fn busy_sessions_that_delay_nothing_are_not_named() {
    let mut run = constant(60, 20, |second| (5 * MS + u64::from(second % 3) * MS, 0));
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 3.0);
    gauge("postgres", "sessions").role(Role::SessionsOnCpu).label("wait", "CPU").each_second(&mut run, |_| 2.9);
    gauge("postgres", "sessions").role(Role::SessionsWaitingForCommit).label("wait", "IO:WALSync").each_second(&mut run, |_| 2.0);
    assert!(findings(&run).is_empty(), "{}", shown(&findings(&run)));
}

/// A database that stops after half a minute: requests fail, the pool fills, and its observer reports the failure.
fn stopped(failed: u64) -> Run {
    let mut run = constant(60, 20, |second| if second < 30 { (5 * MS, 0) } else { (SECOND, failed) });
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    run.signals.iter_mut().for_each(|series| series.points.retain(|point| point.at < 30 * SECOND));
    let pool = |metric, role| gauge("app", metric).role(role).part("shop");
    pool("hikaricp_connections_max", Role::PoolSizeMax).each_second(&mut run, |_| 10.0);
    pool("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, |second| if second < 30 { 0.0 } else { 150.0 });
    pool("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, |second| if second < 30 { 0.3 } else { 0.0 });
    let refused = "connection refused".to_owned();
    run.notices.push(SignalNotice::silence(&"postgres".into(), 30 * SECOND + 500 * MS, NoticeKind::Failed, refused));
    run
}

#[test]
fn a_stopped_database_ranks_before_the_pool_that_waits_for_it() {
    let found = findings(&stopped(20));
    let claim = "\"postgres\" could not be read from 30.5 s on: the database was stopped or unreachable, and 600 of ";
    assert!(found[0].rule == "outage" && found[0].claim.starts_with(claim), "{}", shown(&found));
    let pool = found.iter().find(|finding| finding.rule == "connection-pool");
    assert!(pool.is_none_or(|pool| pool.confidence == Confidence::Low), "{}", shown(&found));
    assert!(!shown(&found).contains("000,000 times"), "{}", shown(&found));
}

#[test]
fn for_a_process_that_ended_the_growth_of_its_memory_is_reported() {
    let ended = |grows: f64| {
        let mut run = constant(60, 20, |second| if second < 30 { (5 * MS, 0) } else { (MS / 10, 20) });
        counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.3);
        gauge("shop", "memory").role(Role::ProcessMemory).each_second(&mut run, |second| 100e6 + grows * second as f64);
        run.signals.iter_mut().for_each(|series| series.points.retain(|point| point.at < 30 * SECOND));
        let gone = "the process is gone".to_owned();
        run.notices.push(SignalNotice::silence(&"shop".into(), 30 * SECOND + 500 * MS, NoticeKind::Failed, gone));
        findings(&run)
    };
    let is_said = |found: &[Finding]| {
        found[0].evidence.iter().any(|evidence| evidence.text.starts_with("until then its memory grew steadily from 10"))
    };
    let found = ended(10e6);
    assert!(found[0].rule == "outage" && is_said(&found) && found[0].next.contains("exceeds its memory limit"), "{}", shown(&found));
    let found = ended(0.05e6);
    assert!(found[0].rule == "outage" && !is_said(&found) && found[0].next.starts_with("Find out why it ended"), "{}", shown(&found));
}

#[test]
fn a_pool_with_leaked_connections_is_not_reported_as_too_small() {
    let filling = |in_use: &dyn Fn(u64) -> f64| {
        let mut run = constant(60, 20, |second| if second < 30 { (5 * MS, 0) } else { (3 * SECOND, 10) });
        let pool = |metric, role| gauge("app", metric).role(role).part("shop");
        pool("hikaricp_connections_max", Role::PoolSizeMax).each_second(&mut run, |_| 10.0);
        pool("hikaricp_connections_pending", Role::PoolWaiting).each_second(&mut run, |second| if second < 30 { 0.0 } else { 30.0 });
        let active = |second| if second < 30 { in_use(second) } else { 10.0 };
        pool("hikaricp_connections_active", Role::PoolInUse).each_second(&mut run, active);
        let found = findings(&run);
        found.into_iter().find(|finding| finding.rule == "connection-pool").unwrap()
    };
    let found = filling(&|second| (second / 3) as f64);
    assert!(found.claim.ends_with("some are never returned (a leak)") && found.next.contains("does not return it"), "{found:?}");
    assert!(found.evidence.iter().any(|evidence| evidence.text.contains("grew steadily from 0")), "{found:?}");
    // Connections are taken and returned, or a few are taken at first.
    for in_use in [(|second| (second * 7 % 5) as f64) as fn(u64) -> f64, |second| second.min(3) as f64] {
        let found = filling(&in_use);
        assert!(!found.claim.contains("never returned"), "{found:?}");
    }
}

#[test]
fn an_observer_that_fails_while_requests_pass_is_no_outage() {
    let mut run = constant(60, 20, |second| (5 * MS + u64::from(second % 3) * MS, 0));
    gauge("postgres", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.3);
    run.notices = stopped(20).notices;
    assert!(findings(&run).is_empty(), "{}", shown(&findings(&run)));
}

#[test]
fn an_observer_with_a_late_response_is_no_outage() {
    let mut run = stopped(20);
    for notice in &mut run.notices {
        notice.kind = NoticeKind::TimedOut;
    }
    assert!(findings(&run).iter().all(|finding| finding.rule != "outage"), "{}", shown(&findings(&run)));
}

#[test]
fn a_heap_with_continuous_collections_is_named() {
    let slow = |second: u64| second >= 20;
    let mut run = constant(60, 20, |second| if slow(u64::from(second)) { (2 * SECOND, 0) } else { (5 * MS, 0) });
    let collecting = |share: f64| move |second: u64| if slow(second) { share } else { 0.01 };
    let pause = |cause: &str| counter("app", "jvm_gc_pause_seconds_sum").role(Role::GarbageCollection).label("cause", cause);
    pause("young").each_second(&mut run, collecting(0.25));
    pause("full").each_second(&mut run, collecting(0.60));
    let found = findings(&run);
    assert!(found[0].rule == "heap" && found[0].claim.contains("spends 85.0 % of its time collecting garbage"), "{}", shown(&found));
    pause("full").each_second(&mut run, collecting(0.02));
    assert!(findings(&run).iter().all(|finding| finding.rule != "heap"), "{}", shown(&findings(&run)));
}

/// Ten senders that are all busy, and more work than they can process.
fn ten_senders() -> Run {
    simulate(&Pipeline { senders: 10, ..healthy() }, 2)
}

#[test]
fn workers_that_call_another_endpoint_do_not_wait_for_this_one() {
    let mut run = simulate(&Pipeline { senders: 3, ..healthy() }, 2);
    let busy = |value: f64| move |_: u64| value;
    let open = || gauge("postgres", "connections").label("state", "idle in transaction").role(Role::SessionsIdleInTransaction);
    open().each_second(&mut run, busy(9.0));
    // Nine hold work, and three are in calls: without further evidence, six wait for a connection.
    let found = findings(&run);
    assert!(found[0].rule == "connection-pool" && found[0].claim.contains("3 at a time, though 9 workers"), "{}", shown(&found));
    gauge("stub:ledger", "in_flight").role(Role::CallsInFlight).each_second(&mut run, busy(6.0));
    gauge("stub:ledger", "in_flight_max").role(Role::CallsInFlightMax).each_second(&mut run, |second| 6.0 + (second % 3) as f64);
    let found = findings(&run);
    assert!(
        found[0].rule == "workers" && found[0].claim.starts_with("All 9 workers are busy with a call, 3 of them to"),
        "{}",
        shown(&found)
    );
}

#[test]
fn a_database_pool_with_its_own_metrics_is_not_confused_with_the_workers() {
    let mut run = ten_senders();
    let found = findings(&run);
    assert!(found[0].rule == "workers" && found[0].confidence == Confidence::Medium, "{}", shown(&found));
    assert!(found[0].claim.contains("10 connections of a pool"), "both are named: {}", shown(&found));
    let pool = |metric, role| gauge("app", metric).role(role).part("hibernate");
    pool("size", Role::PoolSize).each_second(&mut run, |_| 10.0);
    pool("active", Role::PoolInUse).each_second(&mut run, |_| 10.0);
    pool("waiting", Role::PoolWaiting).each_second(&mut run, |_| 0.0);
    assert_eq!(findings(&run)[0].confidence, Confidence::High, "{}", shown(&findings(&run)));
    pool("waiting", Role::PoolWaiting).each_second(&mut run, |second| if second > 5 { 10.0 } else { 0.0 });
    let found = findings(&run);
    assert!(found[0].rule == "connection-pool" && found.iter().all(|finding| finding.rule != "workers"), "{}", shown(&found));
}

/// All ten are busy, a third of the time with other work than the call: more of them would only share the saturated CPU.
#[test]
fn callers_that_also_wait_for_the_processor_rank_after_it() {
    let mut run = simulate(&Pipeline { senders: 10, hold: Service::Fixed(0.5), overhead: 0.25, database: false, ..healthy() }, 2);
    let found = findings(&run);
    assert!(found[0].claim.ends_with("go out at most 10 at a time: workers, a pool or a lock limits them"), "{}", shown(&found));
    run.info.host.cores = 2;
    gauge("process:worker", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 12.0);
    gauge("process:worker", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |_| 0.2);
    counter("process:worker", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 1.6);
    counter("process:worker", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 4.5);
    let found = findings(&run);
    assert!(found[0].rule == "cpu" && found[0].claim.contains("\"process:worker\""), "{}", shown(&found));
    let calls = found.iter().find(|finding| finding.rule == "effective-concurrency").unwrap();
    assert!(calls.claim.contains("at most 10 at a time, and take 6") && calls.next.starts_with("Fix the exhausted"), "{}", shown(&found));
}

#[test]
fn ten_workers_count_as_ten_even_if_calls_overlap() {
    let mut run = ten_senders();
    gauge("stub:subscriber", "in_flight_max").role(Role::CallsInFlightMax).each_second(&mut run, |_| 11.0);
    let found = findings(&run);
    assert!(found[0].claim.contains("go out 10 at a time: all 10 workers"), "{}", shown(&found));
}

#[test]
fn the_advice_never_has_fewer_workers_than_there_are() {
    // They keep up in the end, and no more are needed: "more than 19" of 20 would be fewer.
    let found = findings(&simulate(&Pipeline { load: vec![(50.0, 25), (20.0, 90)], ..healthy() }, 3));
    let workers = found.iter().find(|finding| finding.rule == "workers").unwrap();
    let (_, reported) = workers.next.split_once("Use more than ").unwrap();
    assert!(reported.split_once(',').unwrap().0.parse::<u32>().unwrap() >= 20, "{}", workers.next);
}

/// The USE table: observed resources at low and at high load, and unobserved resources.
#[test]
fn each_resource_is_listed_with_its_use_at_low_and_at_high_load() {
    let fluid = HASHING.under(Load::Ramp(2.0, 40.0, 60));
    let summary = conclude(&pooled(&fluid, 10.0));
    let row = |kind| summary.resources.iter().find(|row| row.kind == kind).unwrap();
    let pool = row(ResourceKind::Pool);
    let (low, high) = (pool.low.unwrap(), pool.high.unwrap());
    assert_eq!((pool.name.as_str(), pool.limit), ("shop", Some(10.0)));
    assert!(low.utilisation.unwrap() < 0.2 && low.waiting == Some(0.0), "{pool:?}");
    assert!(high.utilisation.unwrap() > 0.9 && high.waiting.unwrap() > 20.0, "{pool:?}");
    let process = row(ResourceKind::Process);
    assert!(process.high.is_none() && process.low.is_none(), "not observed: {process:?}");
    assert!(row(ResourceKind::Load).high.unwrap().used > row(ResourceKind::Load).low.unwrap().used);
    // A load that does not vary has no low part.
    let constant = conclude(&pooled(&HASHING.under(Load::Ramp(20.0, 20.0, 40)), 10.0));
    assert!(constant.resources.iter().all(|row| row.low.is_none()), "{:?}", constant.resources);
}
