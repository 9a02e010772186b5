//! k6: the file of `--summary-export`.

use serde_json::Value;

use super::tool_summary::{ToolSummary, quantile, scaled};

const METRIC: &str = "http_req_duration";

pub(crate) fn of_export(text: &str) -> Option<ToolSummary> {
    let summary: Value = serde_json::from_str(text).ok()?;
    let times = summary.get("metrics")?.get(METRIC)?.as_object()?;
    let percentiles = times.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("p(").map_or(name.as_str(), |percent| percent.trim_end_matches(')'));
        Some((quantile(name)?, scaled(value.as_f64()?, 1e6)?))
    });
    Some(ToolSummary::new("k6", METRIC, percentiles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentiles_of_a_k6_summary_are_read() {
        let text = r#"{"metrics":{"http_req_duration":{"avg":5.1,"min":1,"med":4.5,"max":9.25,"p(90)":7,"p(99.9)":9,"thresholds":{"p(95)<1":true}},
            "checks":{"passes":3}},"root_group":{}}"#;
        let summary = of_export(text).unwrap();
        assert_eq!(summary.percentiles, [(0.5, 4_500_000), (0.9, 7_000_000), (0.9990000000000001, 9_000_000), (1.0, 9_250_000)]);
        assert!(of_export("{\"metrics\":{}}").is_none() && of_export("<html>").is_none());
    }
}
