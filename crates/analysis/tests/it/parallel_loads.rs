//! A load that rises in parallel with constant loads: the findings and remarks on each, and the requests that a database statement belongs
//! to.

use loadstone_analysis::{Findings, conclude};
use loadstone_metrics::Role;
use loadstone_plan::{Load, LoadProfile, OpenStage, ScenarioId, ScenarioRun, TestPlan, Timing};
use loadstone_run_directory::Run;

use crate::synthetic::{self, MS, SECOND, Slice, counter};

const SECONDS: u32 = 40;

/// "List" of "Trips" rises from 2 to 70 per second, while "Show" of "Browse" remains at 8. Both take their times by second, in
/// milliseconds.
fn run(show_ms: impl Fn(u32) -> u64, list_ms: impl Fn(u32) -> u64) -> Run {
    let rate = |from, to| LoadProfile::Open {
        stages: vec![OpenStage::Rate { from, to, duration_ns: u64::from(SECONDS) * SECOND, timing: Timing::Even }],
    };
    let leaf = |scenario, profile| Load::Run(ScenarioRun::new(ScenarioId(scenario), profile));
    let load = Load::Parallel(vec![leaf(0, rate(8.0, 8.0)), leaf(1, rate(2.0, 70.0))]);
    let slice = |second: u32| {
        let slice = Slice::new(second).requests_of("Browse", "Show", 8, show_ms(second) * MS);
        let slice = slice.requests_of("Trips", "List", lists(second), list_ms(second) * MS);
        slice.arrivals_of(0, 8).arrivals_of(1, lists(second)).done()
    };
    synthetic::run_of(TestPlan::new("shop", ["Browse", "Trips"], load), (0..SECONDS).map(slice).collect())
}

fn lists(second: u32) -> u64 {
    2 + u64::from(second) * 68 / u64::from(SECONDS - 1)
}

fn findings(run: &Run) -> Findings {
    conclude(run).verdict.findings
}

#[test]
fn a_constant_load_remains_fast_in_parallel_with_a_rising_load() {
    let remark = findings(&run(|_| 3, |_| 12)).remark;
    assert!(remark.text.starts_with("No limit was reached at this load: throughput followed the load"), "{remark}");
}

/// Only the last seconds of the ramp reach the limit.
#[test]
fn a_ramp_that_ends_just_above_a_limit_is_not_reported_without_limit() {
    let remark = findings(&run(|_| 3, |second| if second < 36 { 12 } else { 16 })).remark;
    assert!(remark.text.starts_with("Cannot tell what limits it: times began to grow only at the top of the load"), "{remark}");
    assert!(remark.text.contains("(\"List\" from 12.0 ms to 16.0 ms)") && remark.text.contains("Raise the load further"), "{remark}");
    // A small increase may be caused by the load itself.
    let remark = findings(&run(|_| 3, |second| if second < 36 { 12 } else { 13 })).remark;
    assert!(remark.text.starts_with("No limit was reached at this load"), "{remark}");
}

#[test]
fn a_constant_load_that_slows_down_is_not_reported_as_fast() {
    // By two thirds, in the middle: less than at a limit, but significant.
    let slower = run(|second| if second < 20 { 30 } else { 50 }, |_| 12);
    let said = findings(&slower);
    assert!(said.findings.iter().any(|finding| finding.rule == "change") || said.remark.text.starts_with("Cannot tell"), "{said:?}");
    assert!(!said.remark.text.starts_with("No limit was reached"), "{}", said.remark);
}

#[test]
fn repeated_statements_are_attributed_to_their_request() {
    let asked = |each: u64, list_ms: fn(u32) -> u64| {
        let mut run = run(|_| 3, list_ms);
        // Two for each "Show", and a few of the observer.
        let all = counter("mysql", "statements").role(Role::Statements);
        all.each_second(&mut run, |second| (13 + 2 * 8 + each * lists(second as u32)) as f64);
        findings(&run)
    };
    let passing = asked(61, |_| 12);
    assert!(passing.findings.is_empty(), "{passing:?}");
    let said = "\"mysql\" receives 61 statements per \"List\": each one is a round trip for the request, but no request became slower at this \
                load.";
    assert!(passing.remark.text.contains(said), "{}", passing.remark);
    // If it takes longer and longer, it is a finding.
    let slow = asked(61, |second| 12 + u64::from(second) * 2);
    let found = slow.findings.iter().find(|finding| finding.rule == "many-transactions").unwrap_or_else(|| panic!("{slow:?}"));
    assert!(found.claim.contains("\"mysql\" receives 61 statements per \"List\""), "{}", found.claim);
    assert!(!asked(4, |_| 12).remark.text.contains("receives"));
}

#[test]
fn statements_that_do_not_follow_the_load_are_attributed_to_no_request() {
    let mut run = run(|_| 3, |_| 12);
    counter("mysql", "statements").role(Role::Statements).each_second(&mut run, |second| 900.0 + (second % 7) as f64);
    assert!(!findings(&run).remark.text.contains("receives"), "{}", findings(&run).remark);
}
