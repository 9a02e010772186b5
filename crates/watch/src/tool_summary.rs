//! What a tool states about all its requests at its end, apart from its record.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// Largest summary that is read. Bytes.
const SUMMARY_BYTES_MAX: u64 = 16 << 20;

/// Where a tool writes its summary.
#[derive(Debug)]
pub(crate) enum ToolSummary {
    /// The file of `k6 run --summary-export`.
    K6(PathBuf),
}

/// The name of the times, and the time in nanoseconds by quantile.
type Stated = (&'static str, Vec<(f64, u64)>);

#[derive(Deserialize)]
struct K6Summary {
    metrics: BTreeMap<String, serde_json::Value>,
}

impl ToolSummary {
    /// `None`: the tool has not written a summary, such as k6 with `--no-summary`.
    pub(crate) fn read(self) -> Option<Stated> {
        let Self::K6(path) = self;
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= SUMMARY_BYTES_MAX);
        let text = is_small.then(|| std::fs::read(&path).ok()).flatten()?;
        k6(&text)
    }
}

fn k6(text: &[u8]) -> Option<Stated> {
    const METRIC: &str = "http_req_duration";
    let summary: K6Summary = serde_json::from_slice(text).ok()?;
    let mut percentiles = Vec::new();
    for (name, value) in summary.metrics.get(METRIC)?.as_object()? {
        let quantile = match name.as_str() {
            "med" => Some(0.5),
            "max" => Some(1.0),
            other => {
                other.strip_prefix("p(").and_then(|text| text.strip_suffix(')')).and_then(|text| Some(text.parse::<f64>().ok()? / 100.0))
            }
        };
        if let (Some(quantile), Some(milliseconds)) = (quantile.filter(|quantile| (0.0..=1.0).contains(quantile)), value.as_f64()) {
            percentiles.push((quantile, (milliseconds.max(0.0) * 1e6).round() as u64));
        }
    }
    percentiles.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Some((METRIC, percentiles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentiles_of_a_k6_summary_are_read() {
        let text = br#"{"metrics":{"http_req_duration":{"avg":5.1,"min":1,"med":4.5,"max":9.25,"p(90)":7,"p(99.9)":9,"thresholds":{"p(95)<1":true}},
            "checks":{"passes":3}},"root_group":{}}"#;
        let (metric, percentiles) = k6(text).unwrap();
        assert_eq!((metric, percentiles.len()), ("http_req_duration", 4));
        assert_eq!((percentiles[0], percentiles[1], percentiles[3]), ((0.5, 4_500_000), (0.9, 7_000_000), (1.0, 9_250_000)));
        assert!(k6(b"{\"metrics\":{}}").is_none() && k6(b"<html>").is_none());
    }
}
