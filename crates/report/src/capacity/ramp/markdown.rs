//! The estimate for a pull request or a wiki: the answer is visible, and every ceiling is in a table.

use std::fmt::Write;

use loadstone_analysis::{RampEstimate, Summary};

use super::cells;
use crate::markdown::text;

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

/// The estimate, GitHub-flavoured, ending in a line break.
pub fn ramp_markdown(estimate: &RampEstimate, summary: &Summary) -> String {
    let mut out = String::new();
    let icon = if estimate.throughput_max.is_some() { "✅" } else { "⚠️" };
    line!(out, "### {icon} {}: {}\n", text(&summary.test), text(&estimate.remark));
    line!(out, "- run: {}", text(&summary.id));
    for (title, fact) in cells::facts(estimate, summary) {
        line!(out, "- {title}: {}", text(&fact));
    }
    if let Some(what_if) = &estimate.what_if {
        line!(out, "- what if: {}", text(&what_if.remark));
    }
    if !estimate.ceilings.is_empty() || !estimate.unknown_ceilings.is_empty() {
        line!(out, "\n| Resource | Full at, with its 95 % interval |\n|---|---|");
    }
    for of in &estimate.ceilings {
        line!(out, "| {} | {} |", text(&of.what), cells::interval(of.throughput_max));
    }
    for of in &estimate.unknown_ceilings {
        line!(out, "| {} | unknown: {} |", text(&of.what), text(&of.why));
    }
    out
}
