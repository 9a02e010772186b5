//! What a request of open load costs at several rates, and how late requests begin there by the generator's own account. No peer is compared:
//! wrk2, which other figures are of, is in no package.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use checkout::machine::GENERATOR_CORE;
use serde_json::Value;

use super::lag;
use super::measured::{MEASURED, Spread, TurnCost};
use super::nginx::Nginx;
use super::options::BenchOptions;
use crate::usage;

/// Arrivals per second. The last is more than a core can make.
const RATES: [u32; 5] = [1_000, 10_000, 30_000, 100_000, 200_000];
/// The start window that takes turns with the default one.
const WIDE_WINDOW: &str = "200us";

/// One run.
struct OpenTurn {
    cpu_us: f64,
    requests_per_second: f64,
    connections: f64,
    /// p50, p99, p99.9. Seconds.
    lag: [Option<f64>; 3],
}

/// A table, two rows for each rate: with the default start window and with a wide one, which take turns.
pub(super) fn measure(binary: &Path, server: &Nginx, options: &BenchOptions) -> Result<String> {
    let (seconds, rounds) = (options.seconds, options.rounds);
    let mut text = format!(
        "Open load without a maximum of users, {seconds} s at each rate, {rounds} rounds in turns with the default start window and with \
         `--start-window {WIDE_WINDOW}`. Medians; the ratio is taken within each round. Lag by the generator's own account.\n\n"
    );
    text += "| arrivals per s | start window | CPU per request | × default | requests per s | connections | lag p50 | p99 | p99.9 |\n";
    text += "|---|---|---|---|---|---|---|---|---|\n";
    for rate in RATES {
        let (mut default, mut wide) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            default.push(turn(binary, server, rate, None, seconds)?);
            wide.push(turn(binary, server, rate, Some(WIDE_WINDOW), seconds)?);
        }
        let rows = row(rate, "default", &default, &default) + &row(rate, WIDE_WINDOW, &wide, &default);
        print!("{rows}");
        text += &rows;
    }
    Ok(text)
}

fn turn(binary: &Path, server: &Nginx, rate: u32, window: Option<&str>, seconds: u32) -> Result<OpenTurn> {
    let path = std::env::temp_dir().join(format!("loadstone-bench-open-{}.json", std::process::id()));
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", &server.urls.plain, "--no-save", "--quiet", "--json"]);
    command.args(["--workers", "1", "--rate", &rate.to_string(), "--for", &format!("{seconds}s")]);
    command.args(window.into_iter().flat_map(|window| ["--start-window", window]));
    command.stdout(File::create(&path)?).stderr(Stdio::null());
    let (usage, requests) = server.count(|| usage::run(&mut command, &MEASURED))?;
    let summary = serde_json::from_slice(&fs::read(&path)?).context("the summary that loadstone printed")?;
    fs::remove_file(&path)?;
    read(TurnCost::of(&usage, requests).cpu_us, &summary)
}

fn read(cpu_us: f64, summary: &Value) -> Result<OpenTurn> {
    let totals = &summary["totals"];
    let number = |name: &str| totals[name].as_f64().with_context(|| format!("no {name} in the summary"));
    let requests_per_second = number("requests")? / number("duration_seconds")?;
    Ok(OpenTurn { cpu_us, requests_per_second, connections: number("connections_opened")?, lag: lag::percentiles(summary)? })
}

fn row(rate: u32, window: &str, turns: &[OpenTurn], default: &[OpenTurn]) -> String {
    let median = |of: &dyn Fn(&OpenTurn) -> f64| Spread::of(turns.iter().map(of)).median;
    let ratio = Spread::of(turns.iter().zip(default).map(|(own, default)| own.cpu_us / default.cpu_us));
    let [p50, p99, p999] = [0, 1, 2].map(|index| {
        let known = turns.iter().all(|turn| turn.lag[index].is_some());
        lag::microseconds(known.then(|| median(&|turn| turn.lag[index].unwrap_or(f64::NAN))))
    });
    format!(
        "| {rate} | {window} | {:.2} µs | {ratio} | {:.0} | {:.0} | {p50} | {p99} | {p999} |\n",
        median(&|turn| turn.cpu_us),
        median(&|turn| turn.requests_per_second),
        median(&|turn| turn.connections)
    )
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
        let (default, wide) = ([read(20.0, &summary).unwrap()], [read(12.345, &summary).unwrap()]);
        assert_eq!(row(1_000, "200us", &wide, &default), "| 1000 | 200us | 12.35 µs | 0.62 (0.62–0.62) | 1000 | 7 | 20 µs | 80 µs | – |\n");
        assert!(read(12.0, &serde_json::json!({})).is_err());
    }
}
