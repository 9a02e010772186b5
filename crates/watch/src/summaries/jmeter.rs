//! JMeter: the last line `summary = …` of its summariser, which has no percentile but the maximum, and `statistics.json` of its dashboard.

use serde_json::Value;

use super::tool_summary::{PrintedText, ToolSummary, scaled};

/// By the defaults of `aggregate_rpt_pct1` to `3`.
const FIELDS: [(&str, f64); 5] =
    [("medianResTime", 0.5), ("pct1ResTime", 0.9), ("pct2ResTime", 0.95), ("pct3ResTime", 0.99), ("maxResTime", 1.0)];

/// The row `Total` of the dashboard.
pub(crate) fn of_dashboard(text: &str) -> Option<ToolSummary> {
    let statistics: Value = serde_json::from_str(text).ok()?;
    let total = statistics.get("Total")?;
    let percentiles = FIELDS.iter().filter_map(|(name, quantile)| Some((*quantile, scaled(total.get(name)?.as_f64()?, 1e6)?)));
    Some(ToolSummary::new("JMeter", "the dashboard's Total", percentiles))
}

pub(super) fn summary(printed: &PrintedText) -> Option<ToolSummary> {
    let is_total = |line: &&str| line.starts_with("summary =") && line.contains(" Avg:");
    let (_, max) = printed.text.lines().rev().find(is_total)?.split_once(" Max:")?;
    let max = scaled(max.split_whitespace().next()?.parse().ok()?, 1e6)?;
    Some(ToolSummary::new("JMeter", "elapsed", [(1.0, max)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the documentation of the dashboard: JMeter 5.4.3 writes none with Java 17.
    #[test]
    fn the_total_of_the_dashboard_is_read() {
        let text = r#"{"GET": {"transaction": "GET", "pct1ResTime": 1.0}, "Total": {"transaction": "Total", "sampleCount": 10, "meanResTime": 15.5,
            "medianResTime": 12.0, "minResTime": 1.0, "maxResTime": 99.0, "pct1ResTime": 40.5, "pct2ResTime": 50.0, "pct3ResTime": 90.0}}"#;
        let summary = of_dashboard(text).unwrap();
        let expected = [(0.5, 12_000_000), (0.9, 40_500_000), (0.95, 50_000_000), (0.99, 90_000_000), (1.0, 99_000_000)];
        assert_eq!(summary.percentiles, expected);
        assert!(of_dashboard("{}").is_none() && of_dashboard("").is_none());
    }
}
