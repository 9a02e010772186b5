//! hey and oha: the lines `  99% in 0.0293 secs` below a heading, and `Slowest:` above it. oha can print JSON, too.

use super::tool_summary::{PrintedText, ToolSummary, fields_of, quantile, scaled};

pub(super) fn of_hey(printed: &PrintedText) -> Option<ToolSummary> {
    of_text(&printed.text, "hey", "Latency distribution:")
}

pub(super) fn of_oha(printed: &PrintedText) -> Option<ToolSummary> {
    let Some(percentiles) = printed.json.as_ref().and_then(|json| json.get("latencyPercentiles")) else {
        return of_text(&printed.text, "oha", "Response time distribution:");
    };
    let slowest = printed.json.as_ref().and_then(|json| json.get("summary")?.get("slowest")?.as_f64());
    let slowest = slowest.and_then(|seconds| Some((1.0, scaled(seconds, 1e9)?)));
    Some(ToolSummary::new("oha", "Response time distribution", fields_of(percentiles, 1e9).chain(slowest)))
}

fn of_text(text: &str, tool: &'static str, heading: &'static str) -> Option<ToolSummary> {
    let (before, after) = text.rsplit_once(heading)?;
    let lines = after.lines().skip(1).map_while(|line| line.trim().split_once(" in "));
    let percentiles = lines.filter_map(|(name, time)| Some((quantile(name)?, time_of(time)?)));
    let slowest = before.lines().rev().find_map(|line| line.trim().strip_prefix("Slowest:")).and_then(time_of);
    Some(ToolSummary::new(tool, heading.trim_end_matches(':'), percentiles.chain(slowest.map(|slowest| (1.0, slowest)))))
}

/// Nanoseconds of `0.0293 secs`, `0.0293 sec` or `29.3 ms`.
fn time_of(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_suffix("secs").or_else(|| text.strip_suffix("sec")) {
        Some(seconds) => scaled(seconds.trim().parse().ok()?, 1e9),
        None => loadstone_units::duration::parse(text).ok(),
    }
}
