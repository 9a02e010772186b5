//! The other generators before the server that stalls once, and what they say about it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::machine::{self, GENERATOR_CORE};
use checkout::process;
use serde_json::Value;

use super::case::{AccuracyCase, QUANTILES, STALL};
use super::result::CaseResult;
use super::server::Truthful;

/// Quantiles and seconds, as one generator reports them.
pub(super) struct PeerReport {
    pub(super) name: String,
    /// As a person would type it; empty for the formula.
    pub(super) command: String,
    quantiles: Vec<(f64, f64)>,
}

impl PeerReport {
    pub(super) fn at(&self, quantile: f64) -> Option<f64> {
        self.quantiles.iter().find(|(known, _)| (known - quantile).abs() < 1e-9).map(|(_, seconds)| *seconds)
    }
}

struct PeerGenerator {
    name: &'static str,
    program: &'static str,
    /// With `{url}`, `{rate}`, `{seconds}` and `{folder}` to be filled in.
    arguments: &'static [&'static str],
    read: fn(&str) -> Vec<(f64, f64)>,
}

const GENERATORS: &[PeerGenerator] = &[
    PeerGenerator {
        name: "wrk, 50 connections",
        program: "wrk",
        arguments: &["-t1", "-c50", "-d{seconds}s", "--latency", "{url}"],
        read: wrk,
    },
    // 50 workers of `{rate}`/50 each.
    PeerGenerator { name: "hey, rate", program: "hey", arguments: &["-c", "50", "-q", "{share}", "-z", "{seconds}s", "{url}"], read: hey },
    PeerGenerator {
        name: "oha, rate with latency correction",
        program: "oha",
        arguments: &[
            "--no-tui",
            "--output-format",
            "json",
            "-c",
            "50",
            "-q",
            "{rate}",
            "--latency-correction",
            "-z",
            "{seconds}s",
            "{url}",
        ],
        read: oha,
    },
    PeerGenerator {
        name: "k6, constant-arrival-rate",
        program: "k6",
        arguments: &[
            "run",
            "--quiet",
            "-e",
            "URL={url}",
            "-e",
            "RATE={rate}",
            "-e",
            "SECONDS={seconds}",
            "--summary-export",
            "/dev/stderr",
            "--summary-trend-stats",
            "p(50),p(90),p(99),p(99.9)",
            "{folder}/k6-stall.js",
        ],
        read: k6,
    },
];

/// The formula, our own report, and those of all others that are installed.
pub(super) fn stalled(workspace: &Workspace, server: &Path, outcomes: &[CaseResult]) -> Result<Vec<PeerReport>> {
    let own = outcomes.iter().find(|outcome| outcome.case.name == STALL).context("the stall was not measured")?;
    let case = &own.case;
    let quantiles = |of: &dyn Fn(f64) -> Option<f64>| QUANTILES.iter().filter_map(|quantile| Some((*quantile, of(*quantile)?))).collect();
    let formula =
        PeerReport { name: "formula".to_owned(), command: String::new(), quantiles: quantiles(&|quantile| Some(case.truth_s(quantile))) };
    let ours = PeerReport {
        name: "loadstone, rate".to_owned(),
        command: format!("loadstone run {{url}} --rate {} --for {}s", case.rate, case.seconds),
        quantiles: quantiles(&|quantile| own.reported.at(quantile).map(|percentile| percentile.value)),
    };
    let mut peers = vec![formula, ours];
    for entry in GENERATORS {
        let Some(program) = machine::generator(workspace, entry.program) else {
            process::pass_over(&format!("{}, which is not installed", entry.program))?;
            continue;
        };
        let truthful = Truthful::awake(server, &case.truth, 1)?;
        let fill = |url: &str, folder: &Path| entry.arguments.iter().map(|argument| fill(argument, case, url, folder)).collect::<Vec<_>>();
        let mut command = Command::new("taskset");
        command.args(["-c", &GENERATOR_CORE.to_string()]).arg(program).args(fill(&truthful.url, &workspace.root.join("bench")));
        let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {}", entry.program))?;
        // k6 writes its own words to standard output and the summary to the other.
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let quantiles = (entry.read)(&text);
        println!("{}: {} quantiles read", entry.name, quantiles.len());
        let command = format!("{} {}", entry.program, fill("{url}", Path::new("bench")).join(" "));
        peers.push(PeerReport { name: entry.name.to_owned(), command, quantiles });
    }
    Ok(peers)
}

fn fill(argument: &str, case: &AccuracyCase, url: &str, folder: &Path) -> String {
    argument
        .replace("{url}", url)
        .replace("{rate}", &case.rate.to_string())
        .replace("{share}", &(case.rate / 50).to_string())
        .replace("{seconds}", &case.seconds.to_string())
        .replace("{folder}", &folder.to_string_lossy())
}

/// `     99%    1.23ms`
fn wrk(text: &str) -> Vec<(f64, f64)> {
    let line = |line: &str| {
        let (percent, time) = line.trim().split_once('%')?;
        Some((percent.parse::<f64>().ok()? / 100.0, duration_s(time.trim())?))
    };
    text.lines().filter_map(line).collect()
}

/// `  99% in 0.0123 secs`
fn hey(text: &str) -> Vec<(f64, f64)> {
    let line = |line: &str| {
        let (percent, rest) = line.trim().split_once("% in ")?;
        Some((percent.trim_end_matches('%').parse::<f64>().ok()? / 100.0, rest.strip_suffix(" secs")?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn oha(text: &str) -> Vec<(f64, f64)> {
    let Some(summary) = object(text) else { return Vec::new() };
    let at = |(name, quantile): (&str, f64)| Some((quantile, summary["latencyPercentiles"][name].as_f64()?));
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)].into_iter().filter_map(at).collect()
}

fn k6(text: &str) -> Vec<(f64, f64)> {
    let Some(summary) = object(text) else { return Vec::new() };
    let at = |(name, quantile): (&str, f64)| Some((quantile, summary["metrics"]["http_req_duration"][name].as_f64()? / 1e3));
    [("p(50)", 0.5), ("p(90)", 0.9), ("p(99)", 0.99), ("p(99.9)", 0.999)].into_iter().filter_map(at).collect()
}

/// The first JSON object that begins a line.
fn object(text: &str) -> Option<Value> {
    let begin = if text.starts_with('{') { 0 } else { text.find("\n{")? + 1 };
    serde_json::Deserializer::from_str(&text[begin..]).into_iter().next()?.ok()
}

/// wrk's `812.00us`, `1.23ms`, `1.01s`, `1.00m`.
fn duration_s(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generators_words_are_read() {
        assert_eq!(wrk("  Latency Distribution\n     50%  812.00us\n     99%    1.01s \n"), [(0.5, 812e-6), (0.99, 1.01)]);
        assert_eq!(hey("Latency distribution:\n  10% in 0.0002 secs\n  99%% in 0.0123 secs\n"), [(0.1, 0.0002), (0.99, 0.0123)]);
        assert_eq!(oha(r#"{"latencyPercentiles": {"p50": 0.5, "p99.9": 2.5}}"#), [(0.5, 0.5), (0.999, 2.5)]);
        assert_eq!(k6("words\n{\"metrics\": {\"http_req_duration\": {\"p(99)\": 12.5}}}\n"), [(0.99, 0.0125)]);
    }
}
