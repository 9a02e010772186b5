//! The live view agrees with the final one, and findings are reported before the end.

use loadstone_analysis::{Grade, LiveAnalysis, Provisional, conclude};
use loadstone_metrics::{Outcome, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric};
use loadstone_run_directory::{Run, RunEnd};

use crate::changes::{Request, constant, noise, passes};
use crate::synthetic::{self, MS, Slice, threshold};

#[test]
fn after_the_last_slice_it_shows_the_totals_of_the_summary() {
    let slices: Vec<Snapshot> = (0..12)
        .map(|second| {
            let time = if second < 7 { 900 * MS } else { 10 * MS };
            Slice::new(second).arrivals(10).requests("A", 9, time).request("A", 0, time, Outcome::Reset).done()
        })
        .collect();
    let plan = synthetic::plan(synthetic::open(10.0, 12));
    let run = synthetic::run_of(plan.clone(), slices);
    let mut live = LiveAnalysis::new(&plan, &run.info.host);
    for slice in &run.slices {
        live.push(slice);
    }
    let status = live.status();
    let summary = conclude(&run);
    assert_eq!(status.totals, summary.totals);
    assert_eq!(status.whole.p50, summary.response.at(0.5));
    assert_eq!((status.rate_asked, status.rate_achieved, status.request_rate), (Some(10.0), Some(10.0), 10.0));
    // The last five seconds do not include the slow ones before.
    assert!(status.recent.p99.unwrap() < 0.011);
    assert_eq!((status.failure_share, status.grade, status.seconds), (0.1, Grade::Valid, 12.0));
}

/// "Buy" takes 400 ms instead of 2 ms from second 20 to `until`.
fn slow_from_20(until: u32) -> Run {
    let request = Request {
        name: "Buy",
        time: &move |second, draws| if (20..until).contains(&second) { 0.4 } else { 0.002 } * noise(0.1, draws),
        outcome: &passes,
    };
    constant(90, 20, &[request], 7)
}

/// The run as of `seconds`.
fn so_far(run: &Run, seconds: usize) -> Run {
    Run { slices: run.slices[..seconds].to_vec(), end: None, ..run.clone() }
}

#[test]
fn a_finding_is_reported_during_the_run_and_remains_until_its_end() {
    let run = slow_from_20(90);
    let before = Provisional::of(&mut so_far(&run, 18));
    assert_eq!((before.findings.len(), before.changes.len(), before.seconds), (0, 0, 18.0));
    let after = Provisional::of(&mut so_far(&run, 40)).after(&before);
    let first = after.new_first(Some(&before)).expect("the step is seen");
    assert!(first.rule == "change" && first.claim.starts_with("\"Buy\" went from"), "{first:#?}");
    assert_eq!((after.changes[0].name.as_str(), after.withdrawn.len()), ("Buy", 0));
    let end = Provisional::of(&mut so_far(&run, 90)).after(&after);
    assert_eq!((end.new_first(Some(&after)), end.withdrawn.len()), (None, 0));
    let concluded = conclude(&Run { end: Some(RunEnd::Completed), ..run });
    assert_eq!(end.findings, concluded.verdict.findings.findings);
}

#[test]
fn uncertainty_that_thresholds_decide_is_not_graded_before_the_end() {
    // All requests start 8 ms late, and take 10 ms: far below the bound, or above it regardless of the generator.
    let slice =
        |second| (0..20).fold(Slice::new(second).arrivals(20), |slice, _| slice.request("A", 8 * MS, 10 * MS, Outcome::Passed)).done();
    let grades = |bound: Option<f64>| {
        let mut plan = synthetic::plan(synthetic::open(20.0, 20));
        plan.thresholds =
            bound.map(|bound| threshold(Metric::ResponseTime, Aggregate::Quantile(0.5), Comparison::Below, bound)).into_iter().collect();
        let run = synthetic::run_of(plan.clone(), (0..20).map(slice).collect());
        let mut live = LiveAnalysis::new(&plan, &run.info.host);
        run.slices.iter().for_each(|slice| drop(live.push(slice)));
        (live.status().grade, conclude(&run).verdict.validity.grade)
    };
    assert_eq!(grades(Some(1.0)), (Grade::Valid, Grade::Valid));
    assert_eq!(grades(Some(0.012)), (Grade::Valid, Grade::Invalid));
    assert_eq!(grades(None), (Grade::Invalid, Grade::Invalid));
}

#[test]
fn the_text_without_findings_makes_no_claim_about_the_system() {
    let run = slow_from_20(20);
    let live = LiveAnalysis::new(&run.plan, &run.info.host);
    let mut summary = live.summary(&run.info);
    Provisional::of(&mut so_far(&run, 40)).put_into(&mut summary);
    assert_eq!(summary.verdict.findings.remark.text, "No finding so far.");
    assert!(!summary.resources.is_empty(), "unobserved resources are listed");
}
