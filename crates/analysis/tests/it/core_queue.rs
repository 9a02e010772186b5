//! Detects requests that queue for cores that are sometimes idle, and distinguishes them from requests that wait for something else.

use loadstone_analysis::Finding;
use loadstone_metrics::{Role, SeriesKind, Snapshot};
use loadstone_plan::Timing;
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::simulation::{Service, Target, ramp, simulate, step, users};
use crate::synthetic::{self, SECOND, Slice, counter, gauge};

/// Two requests of 10 ms each, with `places` places.
fn target(places: usize) -> Target {
    let steps = ["List", "Show"].map(|name| step(name, 0, Service::Exponential(0.01))).into();
    Target { slots: vec![places], steps }
}

/// The findings if each request takes `cpu_each` seconds of CPU time.
fn findings_with_cpu(mut run: Run, cpu_each: f64, is_one_thread: bool) -> Vec<Finding> {
    let ended = |slice: &Snapshot| {
        let requests = slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request);
        requests.map(|series| series.count).sum::<u64>() as f64
    };
    let ended: Vec<f64> = run.slices.iter().map(ended).collect();
    let cpu = |second: u64| cpu_each * ended.get(second as usize).copied().unwrap_or(0.0);
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, cpu);
    gauge("shop", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 2.0);
    let of_thread = if is_one_thread { 1.0 } else { 0.5 };
    gauge("shop", "busiest_thread").role(Role::ProcessThreadCpuMax).each_second(&mut run, |second| of_thread * cpu(second));
    findings(&run)
}

fn is_found(found: &[Finding], with: &str) -> bool {
    found.first().is_some_and(|first| first.rule == "cpu" && first.claim.contains(with) && first.claim.contains("as the load rises"))
}

#[test]
fn a_queue_for_cores_that_are_sometimes_idle_is_found() {
    // Capacity: 50 and 100 iterations a second.
    let mut reported = (0, 0);
    for seed in 0..20 {
        let one = findings_with_cpu(simulate(&target(1), ramp(2.0, 44.0, 60, Timing::Poisson), seed), 0.01, true);
        reported.0 += usize::from(is_found(&one, "on a single thread"));
        let two = findings_with_cpu(simulate(&target(2), ramp(4.0, 90.0, 60, Timing::Poisson), seed), 0.01, false);
        reported.1 += usize::from(is_found(&two, "of its 2 cores"));
    }
    // Random arrivals cause a queue in some runs, and hardly one in others.
    assert!(reported.0 >= 6 && reported.1 >= 6, "{reported:?}");
}

#[test]
fn waits_for_other_resources_are_not_attributed_to_cores() {
    for seed in 0..5 {
        for profile in [ramp(2.0, 44.0, 60, Timing::Poisson), users(1, 20, 60)] {
            // A lock or pool that is held for 10 ms, with little CPU time.
            let found = findings_with_cpu(simulate(&target(1), profile, seed), 0.002, true);
            assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
        }
        // Nothing waits.
        let found = findings_with_cpu(simulate(&target(100), ramp(4.0, 90.0, 60, Timing::Poisson), seed), 0.008, false);
        assert!(found.iter().all(|finding| finding.rule != "cpu"), "{}", shown(&found));
    }
}

/// Threads of a throttled group wait for a core as well. The machine is not the cause, although other programs fill it.
#[test]
fn a_quota_that_holds_back_constant_users_is_the_limit() {
    let slice = |second: u32| {
        // After the load, the last requests end.
        let users = if second < 30 { 10 } else { 0 };
        Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active, leaf.started, leaf.ended) = (users, 10, 7, 7)).requests(
            "Shop",
            7,
            9 * SECOND / 7,
        )
    };
    let mut run = synthetic::run_of(synthetic::plan(synthetic::closed(10, 30)), (0..32).map(|second| slice(second).done()).collect());
    counter("shop", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.4);
    gauge("shop", "cores_allowed").role(Role::ProcessCpuMax).each_second(&mut run, |_| 2.0);
    gauge("shop", "cpu_quota").role(Role::GroupCpuMax).each_second(&mut run, |_| 0.4);
    counter("shop", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| 3.5);
    counter("shop", "throttled").role(Role::GroupThrottled).each_second(&mut run, |_| 1.45);
    counter("host", "cpu").role(Role::MachineIdle).each_second(&mut run, |_| 0.01);
    let found = findings(&run);
    let first = found.first().unwrap_or_else(|| panic!("nothing found"));
    assert!(first.rule == "cpu" && first.claim.contains("throttled by its limit of 0.4 cores"), "{}", shown(&found));
}
