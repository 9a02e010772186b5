//! The comparison as test cases: one for each gate, and one for whether the two runs are comparable.

use loadstone_analysis::{ComparisonVerdict, GateResult, GateState, RunComparison};
use loadstone_units::text::printable;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::cells;

/// The XML document. Without gates the comparison is one case, which fails if something is worse.
pub fn junit(comparison: &RunComparison) -> String {
    let mut report = Report::new(format!("loadstone compare: {}", comparison.candidate.test));
    report.add_test_suite(suite(comparison));
    // Writing to memory fails only when memory does. The writer leaves some characters that XML does not allow, such as U+FFFE.
    printable(&report.to_string().unwrap_or_default()).into_owned()
}

/// The suite, also for the document of a run.
pub(crate) fn suite(comparison: &RunComparison) -> TestSuite {
    let mut suite = TestSuite::new("comparison");
    let forbidden: Vec<String> = comparison.differences.iter().filter(|difference| difference.forbids).map(cells::difference).collect();
    suite.add_test_case(case("the two runs can be compared", forbidden.is_empty(), NonSuccessKind::Error, &forbidden.join("\n")));
    if comparison.gates.is_empty() && forbidden.is_empty() {
        let passed = !matches!(comparison.verdict, ComparisonVerdict::Worse | ComparisonVerdict::Mixed);
        suite.add_test_case(case("nothing is worse", passed, NonSuccessKind::Failure, &comparison.sentence()));
    }
    comparison.gates.iter().for_each(|result| {
        suite.add_test_case(gate(result));
    });
    suite
}

fn gate(result: &GateResult) -> TestCase {
    let kind = if result.state == GateState::Failed { NonSuccessKind::Failure } else { NonSuccessKind::Error };
    case(&format!("not {}", result.gate.label), result.state == GateState::Held, kind, &result.detail)
}

fn case(name: &str, passed: bool, kind: NonSuccessKind, message: &str) -> TestCase {
    let status = if passed {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message);
        status
    };
    let mut case = TestCase::new(name, status);
    case.set_classname("loadstone.comparison");
    if passed && !message.is_empty() {
        case.set_system_out(message);
    }
    case
}
