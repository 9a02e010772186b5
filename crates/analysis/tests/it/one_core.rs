//! Processes near the limit of one core: behind a mask, one at a time, or in a garbage collector.

use loadstone_analysis::{Confidence, Finding};
use loadstone_metrics::{NoticeKind, Outcome, Role, SignalNotice};

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::fluid::{FluidRun, Load, System};
use crate::limits::pooled;
use crate::synthetic::{MS, SECOND, Slice, counter, gauge};

fn overloaded() -> FluidRun {
    System { capacity: 20.0, base: 0.05, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60))
}

/// A JVM that is pinned to one core, as `taskset` does, with a full pool of connections to an idle database.
fn pinned(used: f64, waiting: f64) -> Vec<Finding> {
    let fluid = overloaded();
    let mut run = pooled(&fluid, 10.0);
    let part = |second: u64| fluid.ended[second as usize] / 20.0;
    counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| used * part(second));
    counter("process:80", "run_delay")
        .role(Role::ProcessRunDelay)
        .each_second(&mut run, |second| if fluid.open[second as usize] > 3.0 { waiting } else { 0.1 });
    gauge("process:80", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| 0.1 * part(second));
    gauge("process:80", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 1.0);
    gauge("process:80", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| 60.0);
    gauge("pg", "active").role(Role::SessionsActive).each_second(&mut run, |_| 0.03);
    findings(&run)
}

#[test]
fn a_core_just_below_its_limit_is_named_if_threads_wait_for_it() {
    for used in [0.921, 0.96] {
        let found = pinned(used, 24.4);
        assert!(found[0].rule == "cpu" && found[0].confidence == Confidence::High, "{used}: {}", shown(&found));
        assert!(found[0].claim.contains("uses one core fully") && found[0].claim.contains("it is limited to one"), "{}", shown(&found));
        assert!(found.iter().all(|finding| finding.rule != "connection-pool"), "{}", shown(&found));
    }
    // No thread waits for it: it is not the limit.
    assert!(pinned(0.5, 0.02).iter().all(|finding| finding.rule != "cpu"), "{}", shown(&pinned(0.5, 0.02)));
}

/// Twenty-two workers of PHP-FPM that lock the session's file while they compute.
#[test]
fn many_processes_that_add_up_to_one_core_compute_one_at_a_time() {
    let observed = |processes: f64, thread: f64| {
        let fluid = overloaded();
        let mut run = fluid.run.clone();
        let part = |second: u64| fluid.ended[second as usize] / 20.0;
        counter("php", "cpu").role(Role::ProcessCpu).each_second(&mut run, part);
        counter("php", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 0.03);
        gauge("php", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| thread * part(second));
        gauge("php", "processes").role(Role::ProcessCount).each_second(&mut run, |_| processes);
        gauge("php", "threads").role(Role::ProcessThreads).each_second(&mut run, |_| processes);
        findings(&run)
    };
    let found = observed(22.0, 0.098);
    assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    assert!(found[0].claim.contains("they compute one at a time, as behind a lock"), "{}", shown(&found));
    assert!(found[0].confidence <= Confidence::Medium && !shown(&found).contains("a single thread"), "{}", shown(&found));
    // One process, or one busy thread among several processes.
    for found in [observed(1.0, 0.098), observed(3.0, 1.0)] {
        assert!(found[0].claim.contains("uses one core fully"), "{}", shown(&found));
    }
}

/// The kernel's names of a JVM's threads, in `/proc/PID/task/*/comm`.
#[test]
fn a_busy_collector_is_named_and_lowers_the_confidence() {
    let observed = |name: &str| {
        let fluid = overloaded();
        let mut run = fluid.run.clone();
        let part = |second: u64| fluid.ended[second as usize] / 20.0;
        counter("jvm", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 1.02 * part(second));
        gauge("jvm", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| 0.97 * part(second));
        let named = gauge("jvm", "busiest_thread_named").role(Role::ProcessBusiestThread).label("thread", name);
        named.each_second(&mut run, |second| 0.97 * part(second));
        findings(&run)
    };
    let found = observed("GC Thread#0");
    assert!(found[0].claim.ends_with("its thread `GC Thread#0`, which collects garbage"), "{}", shown(&found));
    assert!(
        found[0].confidence == Confidence::Medium && found[0].alternatives[0].text.starts_with("A heap that is full"),
        "{}",
        shown(&found)
    );
    // A compiler serves no request.
    let found = observed("C2 CompilerThre");
    assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
    let found = observed("http-nio-8080-e");
    assert!(found[0].claim.contains("a single thread does the work") && found[0].confidence == Confidence::High, "{}", shown(&found));
    assert!(
        found[0].evidence.iter().any(|evidence| evidence.text.contains("the busiest thread `http-nio-8080-e` 0.9")),
        "{}",
        shown(&found)
    );
}

/// The metrics endpoint shares the process with a collector that runs all the time, so it stops answering.
#[test]
fn a_full_heap_whose_metrics_stop_while_a_thread_is_busy_is_the_cause() {
    let observed = |full: f64, silent_from: u64| {
        let fluid = System { capacity: 20.0, base: 0.05, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
        let mut run = fluid.run.clone();
        counter("process:80", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| if second < 22 { 0.5 } else { 0.99 });
        gauge("process:80", "busiest_thread")
            .role(Role::ProcessThreadCpuMax)
            .each_second(&mut run, |second| if second < 22 { 0.2 } else { 0.97 });
        gauge("app", "jvm_tenured_used")
            .role(Role::HeapUsed)
            .each_second(&mut run, |second| full * 35e6 * f64::min(1.0, 0.5 + second as f64 / 30.0));
        gauge("app", "jvm_tenured_max").role(Role::HeapMax).each_second(&mut run, |_| 35e6);
        for series in run.signals.iter_mut().filter(|series| series.signal.observer == "app") {
            series.points.truncate(silent_from as usize);
        }
        findings(&run)
    };
    let found = observed(0.994, 22);
    assert!(found[0].rule == "heap" && found[0].confidence == Confidence::Medium, "{}", shown(&found));
    assert!(
        found[0].claim.starts_with("The heap of \"process:80\" was 99") && found[0].claim.contains("full at 0:22"),
        "{}",
        shown(&found)
    );
    let limit = found[0].evidence.iter().flat_map(|evidence| &evidence.lines).find(|line| line.label == "limit").expect("the heap's limit");
    assert!(limit.series.ends_with("jvm_tenured_used") && limit.points.iter().all(|(_, bytes)| *bytes == 35e6), "{limit:?}");
    // Half full, or read until the end: one thread is the limit.
    for found in [observed(0.5, 22), observed(0.994, 60)] {
        assert_eq!(found[0].rule, "cpu", "{}", shown(&found));
    }
}

/// An event loop whose process is not alone on the machine: it uses `used` of a core at the limit, and threads wait for a core for `waited`.
fn event_loop(used: impl Fn(f64) -> f64, waited: f64) -> Vec<Finding> {
    let fluid = overloaded();
    let mut run = fluid.run.clone();
    let part = |second: u64| fluid.ended[second as usize] / 20.0;
    counter("api", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| used(part(second)) + 0.02);
    counter("api", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| waited * part(second));
    gauge("api", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| used(part(second)));
    let named = gauge("api", "busiest_thread_named").role(Role::ProcessBusiestThread).label("thread", "uvicorn");
    named.each_second(&mut run, |second| used(part(second)));
    findings(&run)
}

#[test]
fn a_thread_that_uses_most_of_a_core_is_named_if_more_shows_its_limit() {
    // It waits for the rest of its core, or uses no more although the load grows.
    for (used, waited) in [(0.85, 0.15), (0.90, 0.01)] {
        let found = event_loop(|part| used * part, waited);
        assert!(found[0].rule == "cpu" && found[0].confidence == Confidence::Medium, "{used}: {}", shown(&found));
        assert!(found[0].claim.contains("a single thread does the work (`uvicorn`)"), "{used}: {}", shown(&found));
    }
    // Most of a core, but with time to spare.
    let found = event_loop(|part| 0.7 * part, 0.01);
    assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
}

/// A service on one core that ends at 0:48, before which it used so much of that core. Every later request is refused.
fn ends(used: impl Fn(u64, f64) -> f64) -> Vec<Finding> {
    let fluid = overloaded();
    let mut run = fluid.run.clone();
    for second in 48..60 {
        let refused = (0..30).fold(Slice::new(second), |slice, _| slice.request("Register", 0, MS, Outcome::Refused));
        run.slices[second as usize] = refused.arrivals(30).leaf(|leaf| (leaf.started, leaf.ended) = (30, 30)).done();
    }
    let part = |second: u64| fluid.ended[second as usize] / 20.0;
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| used(second, part(second)));
    counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| 4.0 * used(second, part(second)).powi(9));
    gauge("shop", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 1.0);
    run.signals.iter_mut().for_each(|series| series.points.retain(|point| point.at < 48 * SECOND));
    run.notices.push(SignalNotice::silence(&"shop".into(), 48 * SECOND + 500 * MS, NoticeKind::Failed, "the process is gone".to_owned()));
    findings(&run)
}

/// Overload may have ended it, so the finding about its end names the core. A core that was idle, or free again long before, did not.
#[test]
fn a_process_that_ends_with_a_full_core_is_reported_with_both() {
    let outage = |used: &dyn Fn(u64, f64) -> f64| {
        let found = ends(used);
        found.iter().find(|finding| finding.rule == "outage").unwrap_or_else(|| panic!("{}", shown(&found))).clone()
    };
    let ended = outage(&|_, part| 0.99 * part);
    let claim = "\"shop\" could not be read from 48.5 s on: the process had ended, after the CPU of \"shop\" had been used up since 0:3";
    assert!(ended.claim.starts_with(claim), "{}", ended.claim);
    assert!(ended.evidence.iter().any(|evidence| evidence.text == "work waited for the CPU until then"), "{ended:?}");
    let (idle, free_again) = (outage(&|_, part| 0.3 * part), outage(&|second, part| if second < 38 { 0.99 * part } else { 0.2 }));
    assert!(!idle.claim.contains("used up") && !free_again.claim.contains("used up"), "{}; {}", idle.claim, free_again.claim);
}

/// A single thread serves one request at a time, and other programs fill the machine: it uses what they leave.
#[test]
fn the_thread_that_serves_one_request_at_a_time_is_named_where_others_use_the_rest() {
    let observed = |thread: f64, idle: f64| {
        let fluid = System { capacity: 20.0, base: 0.05, is_shared: true }.under(Load::Ramp(2.0, 40.0, 60));
        let mut run = fluid.run.clone();
        run.info.host.cores = 2;
        let part = |second: u64| fluid.ended[second as usize] / 20.0;
        counter("hub", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| 1.02 * thread * part(second));
        gauge("hub", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| thread * part(second));
        gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
        counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle).each_second(&mut run, |_| idle);
        findings(&run)
    };
    let found = observed(0.78, 0.01);
    assert!(found[0].rule == "cpu" && found[0].claim.contains("\"hub\""), "{}", shown(&found));
    assert!(found[0].confidence <= Confidence::Medium, "{}", shown(&found));
    // An idle core was there for it, or it hardly computes.
    for found in [observed(0.78, 0.9), observed(0.3, 0.01)] {
        assert!(found.iter().all(|one| one.rule != "cpu" || !one.claim.contains("\"hub\" uses")), "{}", shown(&found));
    }
}

/// A service of an event loop and a proxy, on a crowded machine: the loop's thread uses `used` of a core and waits for one itself, as the proxy does.
fn loop_and_proxy(used: f64, waited: f64) -> Vec<Finding> {
    let fluid = overloaded();
    let mut run = fluid.run.clone();
    let part = |second: u64| fluid.ended[second as usize] / 20.0;
    counter("hub", "cpu").role(Role::ProcessCpu).each_second(&mut run, |second| (used + 0.5) * part(second));
    counter("hub", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |second| (waited + 0.6) * part(second));
    gauge("hub", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| used * part(second));
    gauge("hub", "busiest_thread_wait").role(Role::ProcessBusiestThreadWait).each_second(&mut run, |second| waited * part(second));
    findings(&run)
}

#[test]
fn a_thread_that_always_computes_or_waits_for_a_core_is_the_limit() {
    let found = loop_and_proxy(0.79, 0.19);
    let parts = [" of one core and waits for it for another 1", "(other programs use it) while work waits: a single thread does the work"];
    assert!(found[0].rule == "cpu" && parts.iter().all(|part| found[0].claim.contains(part)), "{}", shown(&found));
    assert!(found[0].confidence == Confidence::Medium, "{}", shown(&found));
    // The process waits as long, but not this thread.
    for (used, waited) in [(0.6, 0.1), (0.3, 0.68)] {
        let found = loop_and_proxy(used, waited);
        assert!(found.iter().all(|finding| !finding.claim.contains("a single thread")), "{used}: {}", shown(&found));
    }
}

/// At 0:20 other programs start on the core to which the service is pinned. The machine is busy in all of the run.
fn pinned_among_others(cpu: (f64, f64), waited: (f64, f64), throttled: f64) -> Vec<Finding> {
    let show = |second: u32, draws: &mut Draws| 0.02 * noise(0.2, draws) + if second >= 20 { 0.06 } else { 0.0 };
    let mut run = constant(60, 30, &[Request { name: "Show", time: &show, outcome: &passes }], 1);
    let step = |levels: (f64, f64)| move |second: u64| if second < 20 { levels.0 } else { levels.1 };
    counter("hub", "cpu").role(Role::ProcessCpu).each_second(&mut run, step(cpu));
    counter("hub", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, step(waited));
    gauge("hub", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 1.0);
    counter("hub", "throttled").role(Role::GroupThrottled).each_second(&mut run, |second| if second < 20 { 0.0 } else { throttled });
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
    counter("host", "idle").role(Role::MachineIdle).each_second(&mut run, |_| 0.01);
    findings(&run)
}

#[test]
fn cores_that_other_programs_take_are_reported_with_the_instant() {
    let found = pinned_among_others((0.4, 0.38), (0.02, 0.9), 0.0);
    let claim = "From 0:20 on other programs use the only core that it may use: 0.9 threads of \"hub\" wait for a core instead of 0.02, for the same work";
    assert!(found[0].rule == "cpu" && found[0].claim == claim, "{}", shown(&found));
    let names_it = |found: &[Finding]| found.iter().any(|finding| finding.claim.contains("other programs use"));
    for (name, found) in [
        ("as many before", pinned_among_others((0.4, 0.38), (0.8, 0.9), 0.0)),
        ("more work", pinned_among_others((0.4, 0.7), (0.02, 0.9), 0.0)),
        ("a limit of its group", pinned_among_others((0.4, 0.38), (0.02, 0.9), 0.8)),
        ("hardly any", pinned_among_others((0.4, 0.38), (0.02, 0.1), 0.0)),
    ] {
        assert!(!names_it(&found), "{name}: {}", shown(&found));
    }
}
