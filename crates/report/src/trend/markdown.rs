//! The trend for a job's page: the changes are visible, all numbers are folded.

use std::fmt::Write;

use loadstone_analysis::RunTrend;

use super::cells;
use crate::markdown::text;

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

/// The trend, GitHub-flavoured, ending in a line break.
pub fn markdown(trend: &RunTrend) -> String {
    let mut out = String::new();
    line!(out, "### {}: {}\n", text(&trend.test), text(&trend.headline));
    for of in cells::by_run(trend) {
        line!(out, "- **{}**", text(&cells::place(&of)));
        for (series, step) in of.steps {
            line!(out, "  - {} {}", if step.is_worse() { "🔺" } else { "🔽" }, text(&cells::step(series, step)));
        }
    }
    line!(out, "\n<details><summary>All numbers</summary>\n\n| | Now | Single runs | Steps |\n|---|--:|--:|--:|");
    for series in &trend.series {
        line!(out, "| {} | {} | {} | {} |", text(&series.title()), cells::level(series), cells::noise(series), series.steps.len());
    }
    line!(out, "\n</details>\n\n{}", text(&cells::promise(trend)));
    out
}
