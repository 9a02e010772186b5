//! JUnit XML, for CI systems that show test results.
//!
//! A bad validity is an error: the measurement is broken, not the system. A failed threshold is a failure. A failed check is reported but is no
//! failure, because it does not change the exit code. A threshold on the checks does both. Read [`junit`].

use std::time::Duration;

use loadstone_analysis::{CheckRow, ErrorRow, Findings, Grade, RunComparison, Summary, ThresholdResult, ThresholdState, ValidityCheck};
use loadstone_units::text::printable;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::comparison;
use crate::failure_sample;
use crate::view::RunState;
use crate::words;

const ERRORS_MAX: usize = 10;
const FINDINGS_MAX: usize = 3;

/// The XML document. `state` and `state_detail` describe how the run ended, see [`RunState::of`].
pub fn junit(summary: &Summary, state: RunState, state_detail: &str) -> String {
    junit_with(summary, state, state_detail, None)
}

/// The same, with a suite for the comparison with a baseline.
pub(crate) fn junit_with(summary: &Summary, state: RunState, state_detail: &str, compared: Option<&RunComparison>) -> String {
    let mut report = Report::new(format!("loadstone: {}", summary.test));
    report.set_time(duration(summary.totals.duration_seconds));
    let mut run = TestSuite::new("run");
    run.add_test_case(ended(summary, state, state_detail));
    report.add_test_suite(run);
    suite(&mut report, "validity", summary.verdict.validity.checks.iter().map(validity));
    suite(&mut report, "thresholds", summary.verdict.thresholds.iter().map(threshold));
    suite(&mut report, "checks", summary.checks.iter().map(check));
    if let Some(compared) = compared {
        report.add_test_suite(comparison::suite(compared));
    }
    // Writing to memory fails only when memory does. The writer leaves some characters that XML does not allow, such as U+FFFE.
    printable(&report.to_string().unwrap_or_default()).into_owned()
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn suite(report: &mut Report, name: &str, cases: impl Iterator<Item = TestCase>) {
    let mut suite = TestSuite::new(name);
    for mut case in cases {
        case.set_classname(format!("loadstone.{name}"));
        suite.add_test_case(case);
    }
    report.add_test_suite(suite);
}

fn not_passed(kind: NonSuccessKind, what: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(what).set_message(message);
    if !description.is_empty() {
        status.set_description(description);
    }
    status
}

fn ended(summary: &Summary, state: RunState, detail: &str) -> TestCase {
    let bad = |what: &str| not_passed(NonSuccessKind::Error, what, &format!("the run was {what}"), detail);
    let status = match state {
        RunState::Completed | RunState::Running => TestCaseStatus::success(),
        RunState::Interrupted => bad("interrupted"),
        RunState::Aborted => bad("aborted"),
        RunState::Failed => bad("cut short by an error"),
        RunState::Killed => bad("killed"),
    };
    let mut case = TestCase::new("the run completed as planned", status);
    case.set_classname("loadstone.run");
    let of_metrics = summary.metrics.iter().map(words::metric_line);
    let lines: Vec<String> =
        words::retried(&summary.totals).into_iter().chain(of_metrics).chain(found(&summary.verdict.findings)).collect();
    if !lines.is_empty() {
        case.set_system_out(lines.join("\n"));
    }
    case.set_time(duration(summary.totals.duration_seconds));
    if !summary.errors.is_empty() {
        case.set_system_err(summary.errors.iter().take(ERRORS_MAX).map(error).collect::<String>());
    }
    case
}

/// What limits the system, one line for each finding: a reader of a failed threshold wants to know why.
fn found(findings: &Findings) -> impl Iterator<Item = String> {
    let shown = findings.findings.iter().take(FINDINGS_MAX);
    let lines =
        shown.map(|finding| format!("finding ({} confidence): {}", format!("{:?}", finding.confidence).to_lowercase(), finding.claim));
    let remark = Some(&findings.remark.text).filter(|remark| !remark.is_empty()).map(|remark| match lines.len() {
        0 => format!("findings: {remark}"),
        _ => format!("also: {remark}"),
    });
    lines.chain(remark)
}

/// An error, and the response to the first request that failed with it.
fn error(row: &ErrorRow) -> String {
    let mut text = format!("{} × {}: {}: {}\n", loadstone_units::count(row.count), row.key.name, row.outcome.label(), row.message);
    failure_sample::lines(row).iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    text
}

fn validity(check: &ValidityCheck) -> TestCase {
    let more =
        [check.limits.as_str(), check.advice.as_str()].iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n");
    let status = match check.grade {
        None => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(check.evidence.as_str());
            status
        }
        Some(Grade::Valid | Grade::Suspect) => TestCaseStatus::success(),
        Some(Grade::Invalid) => not_passed(NonSuccessKind::Error, "INVALID", &check.evidence, &more),
    };
    let mut case = TestCase::new(check.title.as_str(), status);
    if check.grade == Some(Grade::Suspect) {
        // JUnit has no state between passed and failed.
        case.set_system_err(format!("SUSPECT: {}\n{more}", check.evidence));
    }
    case
}

fn threshold(result: &ThresholdResult) -> TestCase {
    let status = match result.state {
        ThresholdState::Passed => TestCaseStatus::success(),
        ThresholdState::Failed => not_passed(NonSuccessKind::Failure, "threshold", &result.detail, ""),
        ThresholdState::Undecided => not_passed(NonSuccessKind::Error, "undecided", &result.detail, ""),
        ThresholdState::NoData => {
            let detail = if result.detail.is_empty() { "nothing was measured" } else { &result.detail };
            not_passed(NonSuccessKind::Failure, "no data", detail, "")
        }
        ThresholdState::Pending => TestCaseStatus::skipped(),
    };
    let mut case = TestCase::new(result.threshold.label.as_str(), status);
    if result.state == ThresholdState::Passed {
        case.set_system_out(result.detail.as_str());
    }
    case
}

fn check(row: &CheckRow) -> TestCase {
    let total = row.passed + row.failed;
    let mut case = TestCase::new(format!("{}: {}", row.key.scenario, row.key.name), TestCaseStatus::success());
    if row.failed > 0 {
        case.set_system_err(format!("{} of {} failed", loadstone_units::count(row.failed), loadstone_units::count(total)));
    }
    case.set_assertions(usize::try_from(total).unwrap_or(usize::MAX));
    case
}
