//! `summary.json`, the view for the page, and tables of runs: JSON for machines.

use loadstone_analysis::{RunComparison, Summary};

/// The content of `summary.json`: `schema` first, indented, ending in a line break. docs/summary-json.md describes every field.
pub fn summary_json(summary: &Summary) -> String {
    pretty(summary)
}

/// The same, with the comparison with a baseline as `comparison`.
pub(crate) fn summary_json_with(summary: &Summary, comparison: Option<&RunComparison>) -> String {
    #[derive(serde::Serialize)]
    struct ComparedSummary<'a> {
        #[serde(flatten)]
        summary: &'a Summary,
        comparison: &'a RunComparison,
    }
    comparison.map_or_else(|| summary_json(summary), |comparison| pretty(&ComparedSummary { summary, comparison }))
}

/// Indented JSON with a line break at its end.
pub(crate) fn pretty<T: serde::Serialize>(value: &T) -> String {
    // Only maps with keys that are not strings can fail, and no type here has one.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}
