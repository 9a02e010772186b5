//! One run of `loadstone` and what it reported.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use checkout::machine::GENERATOR_CORE;
use serde_json::Value;

use super::case::AccuracyCase;

/// Exit codes with a summary: passed, and "the measurement is invalid", which the table shows.
const MEASURED: [i32; 2] = [0, 4];

pub(super) struct OwnReport {
    pub(super) count: u64,
    /// `valid`, `suspect` or `invalid`.
    pub(super) grade: String,
    percentiles: Vec<Value>,
}

/// A reported percentile. Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReportedPercentile {
    pub(super) value: f64,
    /// The 95 % interval, where one was given.
    pub(super) interval: Option<(f64, f64)>,
}

pub(super) fn run(binary: &Path, case: &AccuracyCase, url: &str, seed: u64) -> Result<OwnReport> {
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", url, "--no-save", "--quiet", "--json"]);
    command.args(["--rate", &case.rate.to_string(), "--for", &format!("{}s", case.seconds), "--seed", &seed.to_string()]);
    if case.poisson {
        command.arg("--poisson");
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().context("starting loadstone")?;
    if !output.status.code().is_some_and(|code| MEASURED.contains(&code)) {
        bail!("{command:?} ended with {}", output.status);
    }
    OwnReport::read(&serde_json::from_slice(&output.stdout).context("the summary that loadstone printed")?)
}

impl OwnReport {
    pub(super) fn read(summary: &Value) -> Result<Self> {
        let response = &summary["response"];
        Ok(Self {
            count: response["count"].as_u64().context("no count in the summary")?,
            grade: summary["verdict"]["validity"]["grade"].as_str().context("no grade in the summary")?.to_owned(),
            percentiles: response["percentiles"].as_array().context("no percentiles in the summary")?.clone(),
        })
    }

    /// `None` where the tool says that it has too few samples.
    pub(super) fn at(&self, quantile: f64) -> Option<ReportedPercentile> {
        let entry = self.percentiles.iter().find(|entry| entry["quantile"].as_f64() == Some(quantile))?;
        let interval = entry["low"].as_f64().zip(entry["high"].as_f64());
        Some(ReportedPercentile { value: entry["value"].as_f64()?, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_read_with_their_intervals() {
        let summary = serde_json::json!({
            "response": { "count": 5, "percentiles": [
                { "quantile": 0.5, "value": 0.25, "low": 0.2, "high": 0.3 }, { "quantile": 0.9, "value": 0.5, "low": null, "high": null },
                { "quantile": 0.99, "value": null } ] },
            "verdict": { "validity": { "grade": "valid" } }
        });
        let reported = OwnReport::read(&summary).unwrap();
        assert_eq!(reported.at(0.5), Some(ReportedPercentile { value: 0.25, interval: Some((0.2, 0.3)) }));
        assert_eq!(reported.at(0.9), Some(ReportedPercentile { value: 0.5, interval: None }));
        assert_eq!((reported.at(0.99), reported.grade.as_str()), (None, "valid"));
    }
}
