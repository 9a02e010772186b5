//! How near `loadstone capacity` comes on real servers whose capacity is known: nginx's limiter and the shop's pool by arithmetic. A server of k places that
//! hold each request for S carries k/S, less what passing a place on takes: that is measured beforehand, by users who never wait. How long requests wait in one
//! with exponential times is in every book (Erlang 1917). Ramps are judged by the same servers.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;
use clap::Args;
use serde_json::Value;

use super::figures;
use super::lab_case;
use super::system::free_port;
use crate::bench::Nginx;

#[derive(Args)]
pub(crate) struct CapacityOptions {
    /// Only cases whose name contains this. May be repeated.
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// How often to search each.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Searches as long as a user's are, of up to twenty minutes, instead of five.
    #[arg(long)]
    long: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Who answers.
enum KnownServer {
    /// The built-in shop, which `loadstone capacity demo` starts itself.
    Demo,
    /// `loadstone stub` with so many places and a delay.
    Places(u32, &'static str),
    /// nginx, whose `limit_req` lets 200 a second pass and lets the others wait.
    Nginx,
}

/// How it is asked.
enum Asked {
    /// A search, with the flags of its load and its objective.
    Search(&'static [&'static str]),
    /// One run that rises to so many a second, and `--of-run`.
    Ramp(&'static [&'static str]),
}

struct KnownCapacity {
    name: &'static str,
    server: KnownServer,
    asked: Asked,
    /// Arrivals, or requests of a ramp, per second; of places, if passing one on took no time.
    truth: f64,
}

/// What the places carry, if passing one on took no time.
const PLACES_CARRY: f64 = 200.0;

const EVEN: Asked = Asked::Search(&["--rate", "100", "--objective", "p99 < 100ms"]);
const RAMP: Asked = Asked::Ramp(&["--rate", "300", "--ramp", "120s", "--for", "1s", "--poisson"]);

const CASES: &[KnownCapacity] = &[
    // Of 150 visitors and buyers 130 check out, and 4 connections of 40 ms let 100/s through.
    KnownCapacity { name: "the demo's shop", server: KnownServer::Demo, asked: Asked::Search(&[]), truth: 115.4 },
    KnownCapacity {
        name: "4 places of 20 ms, even arrivals, p99 < 100 ms",
        server: KnownServer::Places(4, "20ms"),
        asked: EVEN,
        truth: 200.0,
    },
    KnownCapacity { name: "nginx, limit_req 200 r/s, even arrivals, p99 < 100 ms", server: KnownServer::Nginx, asked: EVEN, truth: 200.0 },
    KnownCapacity {
        name: "4 places, exponential 20 ms, random arrivals, p99 < 150 ms",
        server: KnownServer::Places(4, "exponential(20ms)"),
        asked: Asked::Search(&["--rate", "100", "--poisson", "--objective", "p99 < 150ms"]),
        truth: 164.4,
    },
    KnownCapacity { name: "a ramp on 4 places of 20 ms", server: KnownServer::Places(4, "20ms"), asked: RAMP, truth: 200.0 },
    KnownCapacity {
        name: "a ramp on 4 places, exponential 20 ms",
        server: KnownServer::Places(4, "exponential(20ms)"),
        asked: RAMP,
        truth: 200.0,
    },
    KnownCapacity { name: "a ramp on nginx, limit_req 200 r/s", server: KnownServer::Nginx, asked: RAMP, truth: 200.0 },
];

impl KnownCapacity {
    /// What it is asked, once, with the truth of this server; no answer: not identified.
    fn answer(&self, binary: &Path, runs: &Path, long: bool) -> Result<KnownAnswer> {
        let served = KnownServing::start(&self.server, binary)?;
        let truth = match self.server {
            KnownServer::Demo | KnownServer::Nginx => self.truth,
            KnownServer::Places(places, _) => self.truth * carried(binary, &served.what, 3 * places)? / PLACES_CARRY,
        };
        Ok(KnownAnswer { truth, found: self.asked(binary, &served, runs, long)? })
    }

    fn asked(&self, binary: &Path, served: &KnownServing, runs: &Path, long: bool) -> Result<Option<FoundCapacity>> {
        let folder = || ["--runs".as_ref(), runs.as_os_str()];
        match self.asked {
            Asked::Search(flags) => {
                let mut command = Command::new(binary);
                command.arg("capacity").arg(&served.what).args(flags).args(folder()).args(["--json", "--quiet"]);
                if !long && !matches!(self.server, KnownServer::Demo) {
                    command.args(["--probe", "20s", "--pause", "2s", "--budget", "5m"]);
                }
                FoundCapacity::of_search(&json(&mut command)?)
            }
            Asked::Ramp(flags) => {
                let mut run = Command::new(binary);
                run.arg("run").arg(&served.what).args(flags).args(folder()).args(["--json", "--quiet"]);
                let id = json(&mut run)?["id"].as_str().context("a run has an id")?.to_owned();
                let mut command = Command::new(binary);
                command.args(["capacity", "--of-run", &id, "--json"]).args(folder());
                Ok(FoundCapacity::of(&json(&mut command)?, "throughput_max", 121.0))
            }
        }
    }
}

/// Requests a second that end while so many users never wait.
fn carried(binary: &Path, url: &str, users: u32) -> Result<f64> {
    let mut command = Command::new(binary);
    command.args(["run", url, "--users", &users.to_string(), "--for", "10s", "--no-save", "--json", "--quiet"]);
    json(&mut command)?["totals"]["request_rate"].as_f64().context("a run has its rate")
}

/// A server while it is asked.
struct KnownServing {
    /// A URL, or `demo`.
    what: String,
    _nginx: Option<Nginx>,
    stub: Option<Child>,
}

impl KnownServing {
    fn start(server: &KnownServer, binary: &Path) -> Result<Self> {
        match server {
            KnownServer::Demo => Ok(Self { what: "demo".to_owned(), _nginx: None, stub: None }),
            KnownServer::Nginx => {
                let nginx = Nginx::start(0)?;
                Ok(Self { what: nginx.limited_url.clone(), _nginx: Some(nginx), stub: None })
            }
            KnownServer::Places(places, delay) => {
                let listen = format!("127.0.0.1:{}", free_port()?);
                let mut stub = Command::new(binary);
                stub.args(["stub", "--listen", &listen, "--delay", delay, "--concurrent", &places.to_string()]);
                let stub = stub.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting the stub")?;
                let served = Self { what: format!("http://{listen}/"), _nginx: None, stub: Some(stub) };
                for _ in 0..500 {
                    if TcpStream::connect(&listen).is_ok() {
                        return Ok(served);
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                bail!("the stub does not listen after ten seconds");
            }
        }
    }
}

impl Drop for KnownServing {
    fn drop(&mut self) {
        if let Some(stub) = &mut self.stub {
            let _ended = stub.kill().and_then(|()| stub.wait());
        }
    }
}

/// A capacity with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FoundCapacity {
    value: f64,
    low: f64,
    high: f64,
    seconds: f64,
}

impl FoundCapacity {
    fn of(answer: &Value, field: &str, seconds: f64) -> Option<Self> {
        let number = |end: &str| answer[field][end].as_f64();
        Some(Self { value: number("value")?, low: number("low")?, high: number("high")?, seconds })
    }

    fn of_search(answer: &Value) -> Result<Option<Self>> {
        let seconds = answer["cost_seconds"].as_f64().context("an answer has its cost")?;
        Ok(Self::of(answer, "capacity", seconds))
    }
}

/// The capacity of one server, and the reported capacities.
#[derive(Debug, Clone, Copy, PartialEq)]
struct KnownAnswer {
    truth: f64,
    found: Option<FoundCapacity>,
}

/// What the answers to one case say together.
fn row(case: &KnownCapacity, answers: &[KnownAnswer]) -> Vec<String> {
    let found: Vec<(f64, FoundCapacity)> = answers.iter().filter_map(|answer| Some((answer.truth, answer.found?))).collect();
    let mut errors: Vec<f64> = found.iter().map(|(truth, of)| 100.0 * (of.value / truth - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let held = found.iter().filter(|(truth, of)| of.low <= *truth && *truth <= of.high).count();
    let mean = |of: fn(&FoundCapacity) -> f64| found.iter().map(|(_, found)| of(found)).sum::<f64>() / found.len().max(1) as f64;
    let truth = answers.iter().map(|answer| answer.truth).sum::<f64>() / answers.len().max(1) as f64;
    let percent = |value: Option<&f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1} %"));
    vec![
        case.name.to_owned(),
        format!("{truth:.1}/s"),
        format!("{} of {}", found.len(), answers.len()),
        percent(errors.get(errors.len() / 2)),
        percent(errors.last()),
        format!("{held} of {}", found.len()),
        format!("{:.1} %", mean(|of| 50.0 * (of.high - of.low) / of.value)),
        format!("{:.1}", mean(|of| of.seconds / 60.0)),
    ]
}

fn json(command: &mut Command) -> Result<Value> {
    serde_json::from_str(&process::output_of(command, &[0, 3, 4])?).context("what `loadstone --json` wrote")
}

pub(crate) fn capacity(workspace: &Workspace, options: &CapacityOptions) -> Result<()> {
    let binary = lab_case::binary(workspace, options.binary.as_ref())?;
    let is_wanted = |case: &&KnownCapacity| options.only.is_empty() || options.only.iter().any(|word| case.name.contains(word));
    let runs = workspace.target.join("lab/capacity");
    fs::create_dir_all(&runs)?;
    let head = ["system", "capacity", "reported", "median error", "largest", "interval holds it", "± half", "minutes"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for case in CASES.iter().filter(is_wanted) {
        let mut answers = Vec::new();
        for round in 1..=options.repeat {
            let answer = case.answer(&binary, &runs, options.long)?;
            eprintln!("{round}. {}: {answer:?}", case.name);
            answers.push(answer);
        }
        rows.push(row(case, &answers));
    }
    if rows.len() == 1 {
        bail!("no case is called like that; there are: {}", CASES.iter().map(|case| case.name).collect::<Vec<_>>().join("; "));
    }
    println!("{}\nruns are in {}", figures::table(&rows), runs.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_counts_reported_answers_and_correct_intervals() {
        let of = |value: f64, low: f64, high: f64| {
            let answer = json!({ "capacity": { "value": value, "low": low, "high": high }, "cost_seconds": 120.0 });
            FoundCapacity::of_search(&answer).unwrap()
        };
        let no_answer = FoundCapacity::of_search(&json!({ "verdict": "cannot_tell", "cost_seconds": 60.0 })).unwrap();
        assert_eq!(no_answer, None);
        let answers = [of(200.0, 190.0, 210.0), of(204.0, 202.0, 206.0), of(190.0, 180.0, 200.0), no_answer];
        let row = row(&CASES[1], &answers.map(|found| KnownAnswer { truth: 200.0, found }));
        assert_eq!(row[1..], ["200.0/s", "3 of 4", "2.0 %", "5.0 %", "2 of 3", "3.7 %", "2.0"].map(str::to_owned));
    }

    /// Erlang's formula for the share that waits, and an exponential wait: P(T > t) of M/M/k.
    #[test]
    fn the_truth_of_random_arrivals_is_erlangs() {
        let late = |lambda: f64, servers: u32, mean: f64, t: f64| {
            let offered = lambda * mean;
            let mut blocked = 1.0;
            (1..=servers).for_each(|k| blocked = offered * blocked / (f64::from(k) + offered * blocked));
            let waits = blocked / (1.0 - offered / f64::from(servers) * (1.0 - blocked));
            let (service, drain) = (1.0 / mean, f64::from(servers) / mean - lambda);
            // Those that do not wait, and the sum of an exponential wait and an exponential service.
            let waiting = (drain * (-service * t).exp() - service * (-drain * t).exp()) / (drain - service);
            (1.0 - waits) * (-service * t).exp() + waits * waiting
        };
        let case = CASES.iter().find(|case| case.name.contains("random arrivals")).unwrap();
        assert!((late(case.truth, 4, 0.02, 0.15) / 0.01 - 1.0).abs() < 0.01, "{}", late(case.truth, 4, 0.02, 0.15));
    }
}
