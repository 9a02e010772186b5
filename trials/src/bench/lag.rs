//! How late requests begin at 10,000 arrivals a second, by the generator's own account.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use checkout::machine::GENERATOR_CORE;
use serde_json::Value;

use super::nginx::Nginx;
use crate::stillness;

const RATE: u32 = 10_000;
const SECONDS: u32 = 20;

/// One sentence for the report, and one about the machine in those seconds.
pub(super) fn measure(binary: &Path, server: &Nginx) -> Result<String> {
    let (lag, stillness) = stillness::stillest(0.999, || run(binary, server))?;
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| stillness.late_us(quantile));
    Ok(format!(
        "{lag} The machine itself in those seconds, by a timer at real-time priority on the same core: p50 {p50:.0} µs, p99 {p99:.0} µs, \
         p99.9 {p999:.0} µs late; away for {} of the time (the stillest of up to {} runs).",
        stillness.shown(),
        stillness::TRIES,
    ))
}

fn run(binary: &Path, server: &Nginx) -> Result<String> {
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", &server.urls.plain, "--no-save", "--quiet", "--json"]);
    command.args(["--workers", "1", "--rate", &RATE.to_string(), "--for", &format!("{SECONDS}s")]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().context("starting loadstone")?;
    // 4: the measurement is invalid, which a late generator's is.
    if !output.status.success() && output.status.code() != Some(4) {
        bail!("{command:?} ended with {}", output.status);
    }
    sentence(&serde_json::from_slice(&output.stdout).context("the summary that loadstone printed")?)
}

fn sentence(summary: &Value) -> Result<String> {
    let [p50, p99, p999] = percentiles(summary)?.map(microseconds);
    Ok(format!("Schedule lag at {RATE} arrivals a second for {SECONDS} s: p50 {p50}, p99 {p99}, p99.9 {p999}."))
}

/// Schedule lag of the one request of a run: p50, p99, p99.9. Seconds.
pub(super) fn percentiles(summary: &Value) -> Result<[Option<f64>; 3]> {
    let percentiles = summary["requests"][0]["lag"]["percentiles"].as_array().context("no schedule lag in the summary")?;
    Ok([0.5, 0.99, 0.999].map(|quantile| percentiles.iter().find(|entry| entry["quantile"].as_f64() == Some(quantile))?["value"].as_f64()))
}

pub(super) fn microseconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{:.0} µs", seconds * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_read_in_microseconds() {
        let summary = serde_json::json!({ "requests": [{ "lag": { "percentiles": [
            { "quantile": 0.5, "value": 0.00002 }, { "quantile": 0.99, "value": 0.00008 }, { "quantile": 0.999, "value": null } ] } }] });
        assert!(sentence(&summary).unwrap().ends_with("p50 20 µs, p99 80 µs, p99.9 –."));
        assert!(sentence(&serde_json::json!({})).is_err());
    }
}
