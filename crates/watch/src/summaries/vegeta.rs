//! vegeta: `vegeta report`, as text or JSON. The names of the columns are in the line, because versions differ.

use super::tool_summary::{PrintedText, ToolSummary, fields_of, quantile};

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    if let Some(latencies) = printed.json.as_ref().filter(|json| json.get("earliest").is_some()).and_then(|json| json.get("latencies")) {
        return Some(ToolSummary::new("vegeta", "Latencies", fields_of(latencies, 1.0)));
    }
    let line = printed.text.lines().rev().find_map(|line| line.strip_prefix("Latencies"))?;
    let (names, times) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let times = times.split(',').map(|time| loadstone_units::duration::parse(time).ok());
    let percentiles = names.split(',').zip(times).filter_map(|(name, time)| Some((quantile(name)?, time?)));
    Some(ToolSummary::new("vegeta", "Latencies", percentiles))
}
