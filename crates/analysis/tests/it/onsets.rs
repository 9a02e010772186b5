//! What was there before something changed is not why it changed.

use analysis::{Confidence, Finding, conclude};
use metrics::{Outcome, Role};
use plan::{LoadProfile, OpenStage, Timing};
use run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::coverage::Draws;
use crate::made::{self, MS, SECOND, Slice, counter, gauge};
use crate::told::findings;

fn claims(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.claim.as_str()).collect()
}

/// A machine of two cores that others keep busy, all along or from an instant on; the service answers 40 times a second.
fn on_a_busy_machine(busy_from: u64, list: impl Fn(u32) -> f64, other: impl Fn(u32) -> f64) -> Run {
    let list = |second: u32, draws: &mut Draws| list(second) * noise(0.2, draws);
    let other = |second: u32, draws: &mut Draws| other(second) * noise(0.2, draws);
    let requests = [Request { name: "List", time: &list, outcome: &passes }, Request { name: "Other", time: &other, outcome: &passes }];
    let mut run = constant(60, 40, &requests, 3);
    let idle = counter("host", "cpu").label("mode", "idle").role(Role::MachineIdle);
    idle.each_second(&mut run, |second| if second >= busy_from { 0.02 } else { 1.2 });
    gauge("host", "cores").role(Role::MachineCores).each_second(&mut run, |_| 2.0);
    run
}

#[test]
fn a_machine_that_was_as_busy_before_one_request_became_slow_is_not_why() {
    let step = |second: u32| if second >= 25 { 0.402 } else { 0.002 };
    let found = findings(&on_a_busy_machine(0, step, |_| 0.003));
    assert!(found[0].claim.starts_with("\"List\" went from "), "{:?}", claims(&found));
    assert!(found.iter().all(|finding| finding.rule != "cpu"), "{:?}", claims(&found));
}

#[test]
fn a_machine_that_became_busy_when_all_requests_became_slow_is_named() {
    let step = |usual: f64| move |second: u32| if second >= 25 { usual * 20.0 } else { usual };
    let found = findings(&on_a_busy_machine(25, step(0.02), step(0.03)));
    assert!(found[0].claim.starts_with("The machine's CPU is saturated"), "{:?}", claims(&found));
    // As busy before, and all of them slow from an instant on: it may have become worse, and nothing here rules that out.
    let found = findings(&on_a_busy_machine(0, step(0.02), step(0.03)));
    assert!(found.iter().any(|finding| finding.rule == "cpu"), "{:?}", claims(&found));
}

#[test]
fn a_full_machine_holds_up_only_who_asks_for_its_cores() {
    let found = |delay: f64| {
        let step = |usual: f64| move |second: u32| if second >= 25 { usual * 20.0 } else { usual };
        let mut run = on_a_busy_machine(25, step(0.02), step(0.03));
        counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.1);
        counter("app", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| delay);
        findings(&run)
    };
    let starved = found(12.0);
    assert!(starved[0].claim.starts_with("The machine's CPU is saturated"), "{:?}", claims(&starved));
    assert!(starved[0].alternatives[0].contains("Ruled out: 12.1 threads"), "{:?}", starved[0].alternatives);
    // Most of the time none of its threads wants a core.
    let aside = found(0.2);
    assert_eq!(aside[0].rule, "change", "{:?}", claims(&aside));
    let cpu = aside.iter().find(|finding| finding.rule == "cpu").expect("said, but not first");
    assert!(cpu.confidence == Confidence::Low && cpu.alternatives[0].contains("Not ruled out: only 0.3"), "{:?}", cpu.alternatives);
}

#[test]
fn a_few_failures_are_said_to_lie_where_they_lie() {
    let claim = |failing: fn(u32) -> bool| {
        let time = |_: u32, draws: &mut Draws| 0.01 * noise(0.2, draws);
        let (first, once) = (std::cell::Cell::new(u32::MAX), |second: u32| failing(second).then_some(second));
        // The first request of each failing second.
        let outcome = |second: u32, _: &mut Draws| match once(second) {
            Some(second) if first.replace(second) != second => Outcome::Reset,
            _ => Outcome::Passed,
        };
        let requests = [Request { name: "Show", time: &time, outcome: &outcome }];
        findings(&constant(60, 15, &requests, 5)).remove(0).claim
    };
    assert!(claim(|second| second >= 57).contains(" failed between 0:57 and 1:00 ("), "{}", claim(|second| second >= 57));
    let apart = |second: u32| second % 25 == 4;
    assert!(claim(apart).contains(" failed throughout the run ("), "{}", claim(apart));
}

#[test]
fn a_remark_tells_of_garbage_collection_that_takes_a_good_part_of_the_time() {
    // Times grow with the load while throughput follows it.
    let second = |second: u32| {
        let rate = 10 + u64::from(second) * 95 / 60;
        Slice::new(second).arrivals(rate).requests("Show", rate, 10 * MS + u64::from(second) * MS).done()
    };
    let profile =
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: 10.0, to: 105.0, duration_ns: 60 * SECOND, timing: Timing::Even }] };
    let mut run = made::run_of(made::plan(profile), (0..60).map(second).collect());
    let mut remark = |low: f64, high: f64| {
        let collecting = counter("jvm", "gc").role(Role::GarbageCollection);
        collecting.each_second(&mut run, |second| if second < 30 { low } else { high });
        conclude(&run).verdict.findings.remark
    };
    let told = remark(0.05, 0.24);
    assert!(told.contains("\"jvm\" collected garbage for 24.0 % of the time at high load, and 5.00 % at low load"), "{told}");
    let told = remark(0.01, 0.02);
    assert!(told.starts_with("Cannot tell") && !told.contains("garbage"), "{told}");
}
