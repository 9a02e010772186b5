//! If a run is inconclusive, the remark names the load that would decide, as a line of script.

use loadstone_analysis::conclude;
use loadstone_metrics::{FlowSlice, Role, Snapshot};
use loadstone_plan::{ClosedStage, Load, LoadProfile, OpenStage, ScenarioId, ScenarioRun, TestPlan, Timing};
use loadstone_run_directory::RunEnd;

use crate::seeds;
use crate::simulation::{Service, Target, UNLIMITED, simulate, step, users};
use crate::synthetic::{self, MS, SECOND, Slice, closed, gauge, open, plan};

/// `each_second` requests of 5 ms per second, for as long as the profile lasts.
fn remark(profile: LoadProfile, seconds: u32, each_second: u64) -> String {
    let is_open = profile.is_open();
    let slice = |second| {
        let slice = Slice::new(second).requests("Buy", each_second, 5 * MS);
        if is_open { slice.arrivals(each_second).done() } else { slice.done() }
    };
    let found = conclude(&synthetic::run_of(plan(profile), (0..seconds).map(slice).collect())).verdict.findings;
    assert!(found.findings.is_empty(), "{found:?}");
    found.remark.text
}

#[test]
fn for_a_constant_load_the_remark_suggests_a_ramp_beyond_the_highest_load() {
    let reported = remark(closed(20, 40), 40, 50);
    assert!(reported.starts_with("No limit was reached up to 50 requests per second: the requests of all users were served"), "{reported}");
    let ramp = "shows where the limit is: `.run(users.ramp(2, 40).for(\"2m\").then(users(40).for(\"1m\")))`.";
    assert!(reported.contains(ramp), "{reported}");
    let reported = remark(open(25.0, 40), 40, 25);
    assert!(
        reported.contains("shows where the limit is: `.run(arrivals.ramp(3, 50).for(\"2m\").then(arrivals(50).for(\"1m\")))`."),
        "{reported}"
    );
}

/// A ramp with `top` requests per second at its end.
fn ramp(top: f64) -> String {
    let asked = |second: u32| (top * f64::from(second + 1) / 40.0).round() as u64;
    let slice = |second: u32| Slice::new(second).requests("Buy", asked(second), 5 * MS).arrivals(asked(second)).done();
    let stages = vec![OpenStage::Rate { from: 0.0, to: top, duration_ns: 40 * SECOND, timing: Timing::Even }];
    conclude(&synthetic::run_of(plan(LoadProfile::Open { stages }), (0..40).map(slice).collect())).verdict.findings.remark.text
}

#[test]
fn for_a_ramp_of_few_requests_the_remark_does_not_suggest_a_ramp() {
    // 280 in total, 70 of them up to half of the load: enough to see that they take no longer.
    let reported = ramp(14.0);
    assert!(reported.starts_with("No limit was reached at this load"), "{reported}");
    // 120 in total, 30 of them up to half of the load.
    let reported = ramp(6.0);
    assert!(reported.starts_with("No limit was reached up to 5.43 requests per second: every arrival was served"), "{reported}");
}

#[test]
fn the_line_preserves_the_timing_and_levels_below_one_per_second() {
    let rate = |from, to| OpenStage::Rate { from, to, duration_ns: 40 * SECOND, timing: Timing::Poisson };
    let reported = remark(LoadProfile::Open { stages: vec![rate(0.0, 4.0)] }, 40, 4);
    let ramp = "`.run(arrivals.ramp(0.4, 8).poisson().for(\"2m\").then(arrivals(8).poisson().for(\"1m\")))`";
    assert!(reported.contains(ramp), "{reported}");
}

#[test]
fn for_a_run_that_is_too_short_the_remark_has_the_required_length() {
    let reported = remark(open(1.0, 20), 20, 1);
    assert!(reported.ends_with("too few requests ended. Run longer: `.run(arrivals(1).for(\"4m\"))`."), "{reported}");
    // The same ramp, not rounded to the next whole number.
    let stages = vec![OpenStage::Rate { from: 0.5, to: 1.5, duration_ns: 20 * SECOND, timing: Timing::Even }];
    let reported = remark(LoadProfile::Open { stages }, 20, 1);
    assert!(reported.ends_with("Run longer: `.run(arrivals.ramp(0.5, 1.5).for(\"4m\"))`."), "{reported}");
    // 10 requests in half a minute: twenty times as long for 200.
    let stages = vec![ClosedStage { from: 1, to: 1, duration_ns: 30 * SECOND }];
    let reported = remark(LoadProfile::Closed { stages }, 10, 1);
    assert!(reported.ends_with("Run longer: `.run(users(1).for(\"10m\"))`."), "{reported}");
}

#[test]
fn for_a_run_without_requests_or_a_failed_run_the_remark_does_not_suggest_a_longer_run() {
    assert_eq!(remark(closed(2, 20), 20, 0), "Cannot tell what limits it: no request ended. See the validity checks.");
    let mut run = synthetic::run_of(plan(open(2.0, 20)), vec![Slice::new(0).requests("Sign in", 1, 5 * MS).done()]);
    run.end = Some(RunEnd::Failed("the set-up failed: 401 Unauthorized".to_owned()));
    let reported = conclude(&run).verdict.findings.remark.text;
    assert_eq!(reported, "Cannot tell what limits it: the run failed before enough requests had ended. Fix the cause of the failure.");
}

#[test]
fn a_busy_machine_has_no_idle_core() {
    // Several requests are in progress, so that a limit is not ruled out.
    let slice = |second| Slice::new(second).requests("Buy", 50, 100 * MS).done();
    let mut run = synthetic::run_of(plan(closed(20, 40)), (0..40).map(slice).collect());
    gauge("host", "idle").role(Role::MachineIdle).each_second(&mut run, |second| if second == 7 { 0.0 } else { 1.0 });
    let reported = conclude(&run).verdict.findings.remark.text;
    assert!(reported.contains("Observed: \"host\" had no idle core at times."), "{reported}");
}

/// 40 seconds of 2 requests, each of which starts `each` journeys of about 90 ms; `left` of these have not ended at the end of the run.
fn with_journeys(each: u64, left: u64) -> String {
    let second = |number: u32| {
        let backlog = if number == 39 { left } else { 0 };
        let mut flow = FlowSlice { name: "Delivery".into(), started: 2 * each, finished: 2 * each, backlog, ..FlowSlice::default() };
        flow.time.record_n(90 * MS + u64::from(number % 5) * 2 * MS, 2 * each);
        Snapshot { flows: vec![flow], ..Slice::new(number).requests("Publish", 2, 5 * MS).arrivals(2).done() }
    };
    let found = conclude(&synthetic::run_of(plan(open(2.0, 40)), (0..40).map(second).collect())).verdict.findings;
    assert!(found.findings.is_empty(), "{found:?}");
    found.remark.text
}

#[test]
fn journeys_count_if_few_requests_start_many() {
    let reported = with_journeys(40, 0);
    assert!(reported.contains("nothing failed, and each flow's median remained within "), "{reported}");
    assert!(reported.contains("% at 80 journeys per second (80 requests are too few to judge): no limit was reached"), "{reported}");
    // Few of both, and many journeys that have not all ended.
    assert!(with_journeys(1, 0).contains("too few requests ended"), "{}", with_journeys(1, 0));
    assert!(!with_journeys(40, 1).contains("no limit"), "{}", with_journeys(40, 1));
}

#[test]
fn a_request_that_only_prepares_the_load_does_not_prevent_a_verdict() {
    let run = |scenario, profile| Load::Run(ScenarioRun::new(ScenarioId(scenario), profile));
    let reported = |cleared_at: u32| {
        let load = Load::Sequence(vec![run(0, LoadProfile::burst(1)), run(1, open(25.0, 40))]);
        let second = |number: u32| {
            let mut slice = Slice::new(number).requests("Buy", 25, 5 * MS).done();
            if number == cleared_at {
                slice = Slice::new(number).requests("Buy", 25, 5 * MS).requests("Clear", 1, 300 * MS).done();
            }
            let leaf = |leaf, arrivals| loadstone_metrics::LeafSlice {
                leaf,
                arrivals_due: arrivals,
                started: arrivals,
                ended: arrivals,
                ..loadstone_metrics::LeafSlice::default()
            };
            slice.leaves = vec![leaf(0, u64::from(number == 0)), leaf(1, 25)];
            slice
        };
        let found = conclude(&synthetic::run_of(TestPlan::new("t", ["once", "Buy"], load), (0..40).map(second).collect())).verdict.findings;
        assert!(found.findings.is_empty(), "{found:?}");
        found.remark.text
    };
    assert!(reported(0).contains("no limit was reached"), "{}", reported(0));
    // In mid-run it is a request like others that was sent once, so its behaviour under load is unknown.
    assert!(!reported(20).contains("no limit was reached"), "{}", reported(20));
}

/// A request whose times differ by less than a millisecond is no evidence about the variation of the others.
#[test]
fn a_millisecond_is_reported_only_for_requests_within_it() {
    let reported = |slow: u64| {
        let second = |number: u32| {
            let more = u64::from(number >= 20);
            Slice::new(number).requests("Ping", 20, MS + more * MS / 2).requests("Buy", 20, slow + more * slow / 10).arrivals(20).done()
        };
        conclude(&synthetic::run_of(plan(open(20.0, 40)), (0..40).map(second).collect())).verdict.findings.remark.text
    };
    assert!(reported(100 * MS).contains("median remained within 10.0 % or 1 ms at"), "{}", reported(100 * MS));
    assert!(reported(5 * MS).contains("median remained within 1 ms at"), "{}", reported(5 * MS));
}

/// Users rise from 1 to 16 within 15 s, and 4 of them are served at a time.
#[test]
fn throughput_that_stopped_is_never_reported_to_follow_the_load() {
    let shop = Target {
        slots: vec![UNLIMITED, 4],
        steps: vec![step("List", 0, Service::Exponential(0.003)), step("Buy", 1, Service::Exponential(0.04))],
    };
    let mut found = 0;
    for seed in 0..seeds(10, 60) {
        let findings = conclude(&simulate(&shop, users(1, 16, 15), seed)).verdict.findings;
        let text = &findings.remark.text;
        assert!(!text.contains("throughput still follows"), "seed {seed}: {text}");
        found += u64::from(!findings.findings.is_empty());
    }
    assert!(2 * found > seeds(10, 60), "{found}: few of these ramps are too short to show where throughput stops");
}
