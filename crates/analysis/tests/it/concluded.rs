//! The findings of a run, and their display in a failing test.

use loadstone_analysis::{Finding, conclude};
use loadstone_run_directory::Run;

use crate::examples;

pub(crate) fn findings(run: &Run) -> Vec<Finding> {
    let found = conclude(run).verdict.findings.findings;
    examples::record_if_requested(run, &found);
    found
}

pub(crate) fn shown(found: &[Finding]) -> String {
    let text = |finding: &Finding| {
        let evidence: String = finding.evidence.iter().map(|evidence| format!("\n    · {}", evidence.text)).collect();
        let others: String = finding.alternatives.iter().map(|other| format!("\n    or {other}")).collect();
        format!("{} ({:?}): {}{evidence}{others}\n", finding.rule, finding.confidence, finding.claim)
    };
    found.iter().map(text).collect()
}
