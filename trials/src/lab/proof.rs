//! What removing a cause changed: two runs of a lab, compared as a user would compare them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::figures;

/// What is shown of a request or a flow.
const METRICS: [&str; 4] = ["rate", "p50", "p99", "p999"];

pub(super) const HEAD: [&str; 6] = ["", "before", "after", "change", "95 % interval", "verdict"];

/// Lines of a table: one for each number of the subjects that were compared, below one that names the two.
///
/// # Errors
/// When the two cannot be compared.
pub(super) fn rows(binary: &Path, runs: &Path, (before, after): (&str, &str), name: &str, subjects: &[&str]) -> Result<Vec<Vec<String>>> {
    let output = Command::new(binary).arg("compare").arg(runs.join(before)).arg(runs.join(after)).arg("--json").output()?;
    let compared: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("loadstone compare: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    let verdict = compared["verdict"].as_str().unwrap_or_default().to_owned();
    let mut rows = vec![vec![name.to_owned(), String::new(), String::new(), String::new(), String::new(), verdict]];
    let chosen = compared["subjects"].as_array().into_iter().flatten().filter(|subject| {
        let kind = subject["kind"].as_str().unwrap_or_default();
        ["request", "flow"].contains(&kind) && subjects.contains(&subject["name"].as_str().unwrap_or_default())
    });
    for subject in chosen {
        let of_metric =
            subject["rows"].as_array().into_iter().flatten().filter(|row| METRICS.contains(&row["metric"].as_str().unwrap_or_default()));
        rows.extend(of_metric.map(|row| line(subject["name"].as_str().unwrap_or_default(), row)));
    }
    Ok(rows)
}

fn line(subject: &str, row: &Value) -> Vec<String> {
    let metric = row["metric"].as_str().unwrap_or_default();
    let number = |value: &Value| match (value.as_f64(), metric) {
        (None, _) => "–".to_owned(),
        (Some(value), "rate") => format!("{value:.1}/s"),
        (Some(value), _) => figures::seconds(value),
    };
    let interval = match (change(&row["low"]), change(&row["high"])) {
        (None, None) => "–".to_owned(),
        (low, high) => format!("{} to {}", low.unwrap_or_else(|| "?".to_owned()), high.unwrap_or_else(|| "?".to_owned())),
    };
    vec![
        format!("  {subject}, {metric}"),
        number(&row["baseline"]),
        number(&row["candidate"]),
        change(&row["change"]).unwrap_or_else(|| "–".to_owned()),
        interval,
        row["verdict"].as_str().unwrap_or_default().replace('_', " "),
    ]
}

/// A ratio as a change: 1.489 → `+48.9 %`.
fn change(ratio: &Value) -> Option<String> {
    ratio.as_f64().map(|ratio| format!("{:+.1} %", 100.0 * (ratio - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_bound_is_shown_as_unknown() {
        let row = json!({ "metric": "p99", "baseline": 20.5, "candidate": 0.145, "change": 0.00707, "low": null, "high": 0.009, "verdict": "better" });
        assert_eq!(line("Pay", &row), ["  Pay, p99", "20.5 s", "145 ms", "-99.3 %", "? to -99.1 %", "better"]);
        let row = json!({ "metric": "rate", "baseline": 47.3, "candidate": 70.5, "change": null, "low": null, "high": null, "verdict": "cannot_tell" });
        assert_eq!(line("Pay", &row), ["  Pay, rate", "47.3/s", "70.5/s", "–", "–", "cannot tell"]);
    }
}
