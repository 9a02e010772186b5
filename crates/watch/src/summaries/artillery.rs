//! Artillery: `http.response_time` of its last report, the summary. Milliseconds.

use super::tool_summary::{PrintedText, ToolSummary, quantile, scaled};

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    const METRIC: &str = "http.response_time";
    let (_, report) = printed.text.rsplit_once("Summary report @")?;
    let rows = report.lines().map(str::trim_end).skip_while(|line| line.trim_end_matches(':') != METRIC).skip(1);
    let percentiles = rows.map_while(|row| row.strip_prefix("  ")).filter_map(|row| {
        let (name, value) = row.split_once(':')?;
        Some((quantile(name)?, scaled(value.trim_start_matches(['.', ' ']).parse().ok()?, 1e6)?))
    });
    Some(ToolSummary::new("Artillery", METRIC, percentiles))
}
