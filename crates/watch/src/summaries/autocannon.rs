//! autocannon: the row `Latency` of its table, or the object `latency` with `--json`. Milliseconds.

use super::tool_summary::{PrintedText, ToolSummary, fields_of, quantile};

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    if let Some(latency) = printed.json.as_ref().filter(|json| json.get("2xx").is_some()).and_then(|json| json.get("latency")) {
        return Some(ToolSummary::new("autocannon", "Latency", fields_of(latency, 1e6)));
    }
    let cells = |line: &'_ str| -> Vec<String> { line.split('│').map(|cell| cell.trim().to_owned()).collect() };
    let mut names = Vec::new();
    for line in printed.text.lines() {
        let row = cells(line);
        match row.get(1).map(String::as_str) {
            Some("Stat") => names = row,
            Some("Latency") => {
                let time = |text: &String| loadstone_units::duration::parse(text).ok();
                let percentiles = names.iter().zip(&row).filter_map(|(name, value)| Some((quantile(name)?, time(value)?)));
                return Some(ToolSummary::new("autocannon", "Latency", percentiles));
            }
            _ => {}
        }
    }
    None
}
