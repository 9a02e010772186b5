//! What one run under rising load says of the ceiling.

use analysis::{RampEstimate, Summary};

use crate::terminal::{Paint, Style, hang};

/// What begins the evidence that names the limit after the one that is.
const NEXT: &str = "after it";

/// The whole text, ending in a line break.
pub fn ramp(estimate: &RampEstimate, summary: &Summary, style: &Style) -> String {
    let findings = &summary.verdict.findings;
    let limit = findings.findings.first().map_or(&findings.remark, |finding| &finding.claim);
    let evidence = findings.findings.iter().flat_map(|finding| &finding.evidence);
    let next = evidence.map(|evidence| &evidence.text).find(|text| text.starts_with(NEXT));
    let mut lines = vec![("Throughput", estimate.remark.clone()), ("seen", format!("{} at most", units::rate(estimate.seen)))];
    if let Some(users) = estimate.retrograde_from {
        lines.push(("falls", format!("beyond {} requests in the system", units::number(users))));
    }
    lines.push(("limited by", limit.clone()));
    lines.extend(next.map(|next| ("then", next.clone())));
    lines.iter().map(|(title, text)| hang(&style.paint(Paint::Bold, &format!("{title:<12}")), 12, text, style.width)).collect()
}

/// The estimate as JSON, ending in a line break.
pub fn ramp_json(estimate: &RampEstimate) -> String {
    crate::json::pretty(estimate)
}
