//! A condition that existed before a change is not its cause.

use loadstone_analysis::{Confidence, Finding, conclude};
use loadstone_metrics::{ErrorGroup, FailureSample, Outcome, Role, SeriesKind};
use loadstone_plan::{LoadProfile, OpenStage, Timing};
use loadstone_run_directory::Run;

use crate::changes::{Request, constant, noise, passes};
use crate::concluded::findings;
use crate::draws::Draws;
use crate::synthetic::{self, MS, SECOND, Slice, counter, gauge};

fn claims(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.claim.as_str()).collect()
}

/// A machine of two cores that others keep busy, throughout or from a time on; the service responds 40 times per second.
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
fn a_machine_that_was_equally_busy_before_a_change_is_no_cause() {
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
    // Equally busy before, and all requests slow from a time on: the machine may have become slower, and nothing here rules that out.
    let found = findings(&on_a_busy_machine(0, step(0.02), step(0.03)));
    assert!(found.iter().any(|finding| finding.rule == "cpu"), "{:?}", claims(&found));
}

#[test]
fn a_saturated_machine_delays_only_processes_that_need_its_cores() {
    let found = |delay: f64| {
        let step = |usual: f64| move |second: u32| if second >= 25 { usual * 20.0 } else { usual };
        let mut run = on_a_busy_machine(25, step(0.02), step(0.03));
        counter("app", "cpu").role(Role::ProcessCpu).each_second(&mut run, |_| 0.1);
        counter("app", "run_delay").role(Role::ProcessRunDelay).each_second(&mut run, |_| delay);
        findings(&run)
    };
    let starved = found(12.0);
    assert!(starved[0].claim.starts_with("The machine's CPU is saturated"), "{:?}", claims(&starved));
    assert!(starved[0].alternatives[0].text.contains("Ruled out: 12.1 threads"), "{:?}", starved[0].alternatives);
    // Most of the time none of its threads needs a core.
    let aside = found(0.2);
    assert_eq!(aside[0].rule, "change", "{:?}", claims(&aside));
    let cpu = aside.iter().find(|finding| finding.rule == "cpu").expect("reported, but not first");
    assert!(cpu.confidence == Confidence::Low && cpu.alternatives[0].text.contains("Not ruled out: only 0.3"), "{:?}", cpu.alternatives);
}

#[test]
fn a_few_failures_are_reported_at_their_time() {
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
    assert!(claim(|second| second >= 57).contains(" failed, all of them between 0:57 and 1:00 ("), "{}", claim(|second| second >= 57));
    let apart = |second: u32| second % 25 == 4;
    assert!(claim(apart).contains(" failed throughout the run ("), "{}", claim(apart));
}

#[test]
fn a_remark_reports_garbage_collection_with_a_large_share_of_the_time() {
    // Times grow with the load while throughput follows it.
    let second = |second: u32| {
        let rate = 10 + u64::from(second) * 95 / 60;
        Slice::new(second).arrivals(rate).requests("Show", rate, 10 * MS + u64::from(second) * MS).done()
    };
    let profile =
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: 10.0, to: 105.0, duration_ns: 60 * SECOND, timing: Timing::Even }] };
    let mut run = synthetic::run_of(synthetic::plan(profile), (0..60).map(second).collect());
    let mut remark = |low: f64, high: f64| {
        let collecting = counter("jvm", "gc").role(Role::GarbageCollection);
        collecting.each_second(&mut run, |second| if second < 30 { low } else { high });
        conclude(&run).verdict.findings.remark.text
    };
    let reported = remark(0.05, 0.24);
    assert!(reported.contains("\"jvm\" collected garbage for 24.0 % of the time at high load, and 5.00 % at low load"), "{reported}");
    let reported = remark(0.01, 0.02);
    assert!(reported.starts_with("Cannot tell") && !reported.contains("garbage"), "{reported}");
}

/// Five requests, each of which fails too rarely to determine the start: together they do, and none is reported as failing throughout.
#[test]
fn requests_that_fail_in_the_same_way_determine_the_start_together() {
    let first = |run: &Run| findings(run).into_iter().find(|finding| finding.rule == "failures").unwrap();
    let names = ["List", "Item", "Login", "Buy", "Report"];
    let time = |_: u32, draws: &mut Draws| 0.01 * noise(0.2, draws);
    let failing = |from: u32, part: f64| {
        move |second: u32, draws: &mut Draws| if second >= from && draws.uniform() < part { Outcome::Reset } else { Outcome::Passed }
    };
    for seed in 0..5 {
        let late = failing(30, 0.02);
        let run = constant(60, 8, &names.map(|name| Request { name, time: &time, outcome: &late }), seed);
        let found = first(&run);
        assert!(!found.claim.contains("throughout") && found.claim.contains(" 0:3"), "{}", found.claim);
        let always = failing(0, 0.02);
        let run = constant(60, 8, &names.map(|name| Request { name, time: &time, outcome: &always }), seed);
        assert!(first(&run).claim.contains("throughout the run"), "{}", first(&run).claim);
    }
}

/// The message of the response is reported.
#[test]
fn the_message_of_the_first_failed_response_is_reported() {
    let reported = |body: &str| {
        let slices = (0..40u32).map(|second| {
            let mut slice = Slice::new(second).arrivals(10).requests("Show", 10, 10 * MS);
            if second >= 20 {
                slice.record(SeriesKind::Request, "Show", 0, 10 * MS, Outcome::Status);
            }
            let mut slice = slice.done();
            if second == 20 {
                let series = slice.series.iter().find(|series| series.key.kind == SeriesKind::Request).unwrap();
                let samples = vec![FailureSample::new(504, std::iter::empty(), body.as_bytes())];
                let error = ErrorGroup::new(series.key.clone(), Outcome::Status, "status 504", slice.start);
                slice.errors.push(ErrorGroup { samples, ..error });
            }
            slice
        });
        let found = findings(&synthetic::run_of(synthetic::plan(synthetic::open(10.0, 40)), slices.collect()));
        let failed = found.into_iter().find(|finding| finding.rule == "failures").unwrap();
        failed.evidence.into_iter().map(|evidence| evidence.text).find(|text| text.starts_with("the first response:"))
    };
    let says = Some("the first response: \"socket: too many open files\"".to_owned());
    assert_eq!(reported(r#"{"error":"socket: too many open files"}"#), says);
    assert_eq!(reported(r#"{"error":{"message":"socket: too many open files"}}"#), says);
    assert_eq!(reported("socket: too many open files\n"), says);
    assert_eq!(reported("\"socket: too many open files\""), says);
    for nothing in ["", "<html>504</html>", "status 504", r#"{"error":"status 504"}"#, "{}"] {
        assert_eq!(reported(nothing), None, "{nothing}");
    }
}

/// The last two seconds of a ramp, which ends with a second without arrivals.
#[test]
fn failures_at_the_end_of_a_ramp_occur_above_a_load() {
    let slices = (0..26u32).map(|second| {
        let rate = if second < 24 { 4 + u64::from(second) * 3 / 2 } else { 0 };
        let mut slice = Slice::new(second).arrivals(rate);
        for n in 0..rate {
            let outcome = if second >= 22 && n % 4 == 0 { Outcome::Reset } else { Outcome::Passed };
            slice.record(SeriesKind::Request, "Show", 0, 10 * MS, outcome);
        }
        slice.done()
    });
    let profile =
        LoadProfile::Open { stages: vec![OpenStage::Rate { from: 4.0, to: 40.0, duration_ns: 24 * SECOND, timing: Timing::Even }] };
    let found = findings(&synthetic::run_of(synthetic::plan(profile), slices.collect()));
    let failed = found.iter().find(|finding| finding.rule == "failures").unwrap();
    assert!(failed.claim.contains(" failed above 3"), "{}", failed.claim);
}

/// One of a thousand is not zero.
#[test]
fn a_few_failures_are_never_reported_as_none() {
    let time = |_: u32, draws: &mut Draws| 0.01 * noise(0.2, draws);
    let once = std::cell::Cell::new(0);
    let outcome = |_: u32, _: &mut Draws| {
        once.set(once.get() + 1);
        if once.get() % 1_000 == 500 { Outcome::Reset } else { Outcome::Passed }
    };
    let verdict = conclude(&constant(60, 40, &[Request { name: "Show", time: &time, outcome: &outcome }], 1)).verdict.findings;
    let reported = verdict.remark.text + &verdict.findings.iter().map(|finding| finding.claim.as_str()).collect::<String>();
    assert!(!reported.contains("nothing failed") && reported.contains("2 of 2,400 requests failed"), "{reported}");
}

/// Four of a hundred get no response, throughout. After the load only these remain.
#[test]
fn requests_that_end_after_the_load_do_not_increase_the_failure_rate() {
    let slice = |second: u32| {
        let lost = if second == 0 { 0 } else { 4 };
        let load = if second < 8 { 96 } else { 0 };
        let mut slice = Slice::new(second).arrivals(if second < 8 { 100 } else { 0 }).requests("Look up", load, MS);
        for _ in 0..lost {
            slice = slice.request("Look up", 0, SECOND, Outcome::Timeout);
        }
        slice.done()
    };
    let run = synthetic::run_of(synthetic::plan(synthetic::open(100.0, 8)), (0..9).map(slice).collect());
    let claim = findings(&run).remove(0).claim;
    assert!(claim.starts_with("4.00 % of \"Look up\" failed throughout the run ("), "{claim}");
}
