//! wrk and wrk2: `Latency Distribution`, with `--latency`, and the maximum of the thread statistics.

use super::tool_summary::{PrintedText, ToolSummary, quantile};

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    let (_, after) = printed.text.rsplit_once("Thread Stats")?;
    let lines = || after.lines().map(str::trim);
    let row: Vec<&str> = lines().find_map(|line| line.strip_prefix("Latency "))?.split_whitespace().collect();
    // Mean, deviation, and the maximum, or the 99th percentile of wrk2.
    let has_max = after.lines().next().is_some_and(|heading| heading.split_whitespace().nth(2) == Some("Max"));
    let max = row.get(2).filter(|_| has_max).and_then(|time| loadstone_units::duration::parse(time).ok()).map(|max| (1.0, max));
    let table = lines().skip_while(|line| !line.starts_with("Latency Distribution")).skip(1);
    let percentiles = table.map_while(|line| {
        let (name, time) = line.split_once('%')?;
        Some((quantile(name)?, loadstone_units::duration::parse(time).ok()?))
    });
    Some(ToolSummary::new("wrk", "Latency", percentiles.chain(max)))
}
