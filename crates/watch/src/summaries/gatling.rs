//! Gatling: the table `Global Information` on the console. The first number of a row is that of all requests, whether they passed or not.

use super::tool_summary::{PrintedText, ToolSummary, quantile, scaled};

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    const UNIT: &str = "(ms)";
    let (_, after) = printed.text.rsplit_once("---- Global Information ---")?;
    let rows = after.lines().skip(1).map_while(|line| line.trim().strip_prefix("> "));
    let percentiles = rows.filter_map(|row| {
        let (name, numbers) = row.split_once(UNIT)?;
        let name = name.trim();
        let quantile = match name.strip_prefix("response time ").and_then(|name| name.strip_suffix(" percentile")) {
            Some(rank) => quantile(rank)?,
            None if name == "max response time" => 1.0,
            None => return None,
        };
        // Numbers of 3.12 and earlier follow after spaces, those of later versions after a bar. Thousands have commas.
        let number = numbers.trim_start_matches([' ', '|']).split_whitespace().next()?.replace(',', "");
        Some((quantile, scaled(number.parse().ok()?, 1e6)?))
    });
    Some(ToolSummary::new("Gatling", "response time", percentiles))
}
