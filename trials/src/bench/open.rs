//! What a request of open load costs at several rates, and how late requests begin there by the generator's own account. No peer is compared:
//! wrk2, which other figures are of, is in no package.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use checkout::machine::GENERATOR_CORE;
use serde_json::Value;

use super::lag;
use super::measured::{MEASURED, TurnCost};
use super::nginx::Nginx;
use super::options::BenchOptions;
use crate::usage;

/// Arrivals per second. The last is more than a core can make.
const RATES: [u32; 5] = [1_000, 10_000, 30_000, 100_000, 200_000];

/// A table, one row for each rate.
pub(super) fn measure(binary: &Path, server: &Nginx, options: &BenchOptions) -> Result<String> {
    let mut text =
        format!("Open load without a maximum of users, {} s at each rate; lag by the generator's own account.\n\n", options.seconds);
    text += "| arrivals per s | CPU per request | requests per s | connections | lag p50 | p99 | p99.9 |\n|---|---|---|---|---|---|---|\n";
    for rate in RATES {
        let row = row(binary, server, rate, options.seconds)?;
        print!("open  {row}");
        text += &row;
    }
    Ok(text)
}

fn row(binary: &Path, server: &Nginx, rate: u32, seconds: u32) -> Result<String> {
    let path = std::env::temp_dir().join(format!("loadstone-bench-open-{}.json", std::process::id()));
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", &server.urls.plain, "--no-save", "--quiet", "--json"]);
    command.args(["--workers", "1", "--rate", &rate.to_string(), "--for", &format!("{seconds}s")]);
    command.stdout(File::create(&path)?).stderr(Stdio::null());
    let (usage, requests) = server.count(|| usage::run(&mut command, &MEASURED))?;
    let summary = serde_json::from_slice(&fs::read(&path)?).context("the summary that loadstone printed")?;
    fs::remove_file(&path)?;
    line(rate, TurnCost::of(&usage, requests).cpu_us, &summary)
}

fn line(rate: u32, cpu_us: f64, summary: &Value) -> Result<String> {
    let totals = &summary["totals"];
    let number = |name: &str| totals[name].as_f64().with_context(|| format!("no {name} in the summary"));
    let per_second = number("requests")? / number("duration_seconds")?;
    let [p50, p99, p999] = lag::percentiles(summary)?;
    Ok(format!("| {rate} | {cpu_us:.2} µs | {per_second:.0} | {:.0} | {p50} | {p99} | {p999} |\n", number("connections_opened")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_from_the_summary() {
        let summary = serde_json::json!({
            "totals": { "requests": 5000, "duration_seconds": 5.0, "connections_opened": 7 },
            "requests": [{ "lag": { "percentiles": [{ "quantile": 0.5, "value": 0.00002 }, { "quantile": 0.99, "value": 0.00008 }] } }],
        });
        assert_eq!(line(1_000, 12.345, &summary).unwrap(), "| 1000 | 12.35 µs | 1000 | 7 | 20 µs | 80 µs | – |\n");
        assert!(line(1_000, 12.0, &serde_json::json!({})).is_err());
    }
}
