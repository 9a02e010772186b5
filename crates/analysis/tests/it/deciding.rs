//! Where nothing can be told, the load that would decide is named, as the line of script that makes it.

use analysis::conclude;
use metrics::Role;
use plan::{ClosedStage, LoadProfile, OpenStage, Timing};

use crate::made::{self, MS, SECOND, Slice, closed, gauge, open, plan};

/// So many requests of 5 ms each second, for as long as the profile lasts.
fn remark(profile: LoadProfile, seconds: u32, each_second: u64) -> String {
    let is_open = profile.is_open();
    let slice = |second| {
        let slice = Slice::new(second).requests("Buy", each_second, 5 * MS);
        if is_open { slice.arrivals(each_second).done() } else { slice.done() }
    };
    let found = conclude(&made::run_of(plan(profile), (0..seconds).map(slice).collect())).verdict.findings;
    assert!(found.findings.is_empty(), "{found:?}");
    found.remark
}

#[test]
fn a_load_that_did_not_vary_is_to_be_ramped_beyond_the_highest() {
    let told = remark(closed(20, 40), 40, 50);
    assert!(told.contains("did not vary enough"), "{told}");
    let ramp = "Ramp the load from low to high: `.run(users.ramp(2, 40).for(\"2m\").then(users(40).for(\"1m\")))`. Observe";
    assert!(told.contains(ramp), "{told}");
    let told = remark(open(25.0, 40), 40, 25);
    assert!(told.contains("raise the load to find it: `.run(arrivals.ramp(3, 50).for(\"2m\").then(arrivals(50).for(\"1m\")))`."), "{told}");
}

#[test]
fn the_line_keeps_the_timing_and_levels_below_one_a_second() {
    let rate = |from, to| OpenStage::Rate { from, to, duration_ns: 40 * SECOND, timing: Timing::Poisson };
    let told = remark(LoadProfile::Open { stages: vec![rate(0.0, 4.0)] }, 40, 4);
    let ramp = "`.run(arrivals.ramp(0.40, 8).poisson().for(\"2m\").then(arrivals(8).poisson().for(\"1m\")))`";
    assert!(told.contains(ramp), "{told}");
}

#[test]
fn a_run_that_was_too_short_is_told_how_long_to_take() {
    let told = remark(open(2.0, 20), 20, 2);
    assert!(told.ends_with("too few requests ended. Run longer: `.run(arrivals(2).for(\"2m\"))`."), "{told}");
    // 10 requests in half a minute: twenty times as long for 200.
    let stages = vec![ClosedStage { from: 1, to: 1, duration_ns: 30 * SECOND }];
    let told = remark(LoadProfile::Closed { stages }, 10, 1);
    assert!(told.ends_with("Run longer: `.run(users(1).for(\"10m\"))`."), "{told}");
}

#[test]
fn a_machine_without_an_idle_core_has_none() {
    let slice = |second| Slice::new(second).requests("Buy", 50, 5 * MS).done();
    let mut run = made::run_of(plan(closed(20, 40)), (0..40).map(slice).collect());
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| if second == 7 { 0.0 } else { 1.0 });
    let told = conclude(&run).verdict.findings.remark;
    assert!(told.contains("Seen: at some moment \"host\" had no core idle."), "{told}");
}
