//! `summary.json`, the view for the page, and tables of runs: JSON for machines.

use loadstone_analysis::Summary;

/// The content of `summary.json`: `schema` first, indented, ending in a line break. docs/summary-json.md describes every field.
pub fn summary_json(summary: &Summary) -> String {
    pretty(summary)
}

/// Indented JSON with a line break at its end.
pub(crate) fn pretty<T: serde::Serialize>(value: &T) -> String {
    // Only maps with keys that are not strings can fail, and no type here has one.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\": \"{error}\"}}"));
    text.push('\n');
    text
}
