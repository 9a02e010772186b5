//! The trials: a server, a load, and what starves the generator meanwhile. Read [`all`] first.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use checkout::machine::GENERATOR_CORE;
use checkout::process;
use serde_json::Value;

use super::verdict::SelfVerdict;
use super::wire::WireRecord;
use crate::accuracy::server::{Truthful, entering};
use crate::starve::{FewPorts, Starvation};

/// For so long after its load has begun a generator is starved, whether its run has ended or not.
const STARVED_AT_MOST: Duration = Duration::from_secs(30);
/// Exit codes with a summary: passed, and "the measurement is invalid".
const MEASURED: [i32; 2] = [0, 4];
/// It reported that it could not generate the load, and generated none.
const REFUSED: i32 = 2;

/// Programs and files that trials need, and what is common to all runs.
pub(super) struct TrialFiles {
    pub(super) seconds: u64,
    pub(super) binary: PathBuf,
    /// What judges the runs: `binary`, or one with other rules.
    pub(super) judge: PathBuf,
    /// Where a run lies until it is judged.
    pub(super) runs: PathBuf,
    pub(super) server: PathBuf,
    pub(super) scripts: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub(super) name: String,
    /// What the server does: a `Truth` of crates/stub.
    truth: &'static str,
    /// Of `loadstone run`; `{url}`, `{scripts}` and `{length}` are filled in.
    arguments: String,
    starvation: Starvation,
}

const FIVE_MS: &str = r#"{"kind": "delay", "delay": "5ms"}"#;
const INSTANT: &str = r#"{"kind": "instant"}"#;
const FIFTY_MS: &str = r#"{"kind": "delay", "delay": "50ms"}"#;
const TWO_SECONDS: &str = r#"{"kind": "delay", "delay": "2s"}"#;
const STALL: &str = r#"{"kind": "stall", "after_ns": 800000000, "length_ns": 500000000}"#;
const TWO_DELAYS: &str = r#"{"kind": "bimodal", "fast": "5ms", "slow": "50ms", "slow_share": 0.03}"#;
const QUEUE: &str = r#"{"kind": "single_server", "mean_service_ns": 1000000}"#;
const WEBSOCKET: &str = r#"{"kind": "websocket", "delay_ms": 20}"#;
const DRIP: &str = r#"{"kind": "slow_body", "bytes": 10000, "piece_bytes": 1000, "pause_ns": 5000000}"#;

fn trial(name: impl Into<String>, truth: &'static str, arguments: impl Into<String>, starvation: Starvation) -> Trial {
    Trial { name: name.into(), truth, arguments: arguments.into(), starvation }
}

/// Clean settings, and each way to starve at three severities.
pub(super) fn all() -> Vec<Trial> {
    [clean(), without_cores(), without_resources()].concat()
}

fn clean() -> Vec<Trial> {
    let clean = |name: &str, truth, arguments: &str| trial(format!("clean: {name}"), truth, arguments, Starvation::None);
    vec![
        clean("10/s", FIVE_MS, "{url} --rate 10 --for 4s"),
        clean("100/s", FIVE_MS, "{url} --rate 100 --for {length}"),
        clean("1,000/s", FIVE_MS, "{url} --rate 1000 --for {length}"),
        clean("10,000/s", FIVE_MS, "{url} --rate 10000 --for {length}"),
        clean("3,000/s, instant responses", INSTANT, "{url} --rate 3000 --for {length}"),
        clean("500/s at random moments", FIVE_MS, "{url} --rate 500 --poisson --for {length}"),
        clean("20 users", FIVE_MS, "{url} --users 20 --for {length}"),
        clean("200 users, slow responses", FIFTY_MS, "{url} --users 200 --for {length}"),
        clean("the target stalls for half a second", STALL, "{url} --rate 500 --for {length}"),
        clean("two delays", TWO_DELAYS, "{url} --rate 500 --for {length}"),
        clean("a queue at 70 %", QUEUE, "{url} --rate 700 --poisson --for {length}"),
        clean("a connection for each request", FIVE_MS, "{url} --rate 200 --no-keep-alive --for {length}"),
        clean("bodies that drip", DRIP, "{url} --rate 100 --for {length}"),
        clean("a script", FIVE_MS, "{scripts}/light.load.ts -p target={url} -p length={length}"),
        clean("WebSocket", WEBSOCKET, "{scripts}/websocket.load.ts -p target={url} -p length={length}"),
        trial("clean: next to a busy database", FIVE_MS, "{url} --rate 500 --for {length}", Starvation::Neighbour { percent: 40 }),
    ]
}

/// The core is another's for a part of the time, or all of it.
fn without_cores() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut starved = |name: String, truth, arguments: &str, starvation| {
        trials.push(trial(format!("starved: {name}"), truth, arguments, starvation));
    };
    for percent in [3, 10, 25] {
        starved(
            format!("CPU limit of {percent} %"),
            FIVE_MS,
            "{url} --rate 4000 --for {length}",
            Starvation::Quota { percent, period_ms: 100 },
        );
    }
    for count in [1, 2, 4] {
        let arguments = "{scripts}/websocket.load.ts -p target={url} -p length={length}";
        starved(format!("WebSocket, {count} hogs on the core"), WEBSOCKET, arguments, Starvation::Hogs { count, nice: 0 });
    }
    for percent in [20, 50, 80] {
        let starvation = Starvation::Quota { percent, period_ms: 1_000 };
        starved(format!("CPU limit of {percent} % of each second"), FIVE_MS, "{url} --users 200 --for {length}", starvation);
    }
    for count in [1, 2, 4] {
        starved(format!("{count} hogs on the core"), FIVE_MS, "{url} --rate 2000 --for {length}", Starvation::Hogs { count, nice: 0 });
    }
    for nice in [5, 10, 19] {
        starved(format!("a hog, and niceness {nice}"), FIVE_MS, "{url} --rate 1000 --for {length}", Starvation::Hogs { count: 1, nice });
    }
    for count in [1, 2, 4] {
        starved(
            format!("{count} hogs, only idle time"),
            FIVE_MS,
            "{url} --rate 500 --for {length}",
            Starvation::OnlyIdleTime { hogs: count },
        );
    }
    for percent in [10, 40, 80] {
        starved(
            format!("a hog for {percent} % of each 100 ms"),
            FIVE_MS,
            "{url} --rate 1000 --for {length}",
            Starvation::Bursts { percent },
        );
    }
    for milliseconds in [80, 300, 1_000] {
        starved(
            format!("stopped for {milliseconds} ms"),
            FIVE_MS,
            "{url} --rate 1000 --for {length}",
            Starvation::Stop { milliseconds, times: 1 },
        );
    }
    for milliseconds in [20, 50, 100] {
        let starvation = Starvation::Stop { milliseconds, times: 5 };
        starved(format!("stopped five times for {milliseconds} ms"), FIVE_MS, "{url} --users 20 --for {length}", starvation);
    }
    trials
}

/// Ports or descriptors are wanting, or the load is more than a core can make.
fn without_resources() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut starved = |name: String, truth, arguments: &str, starvation| {
        trials.push(trial(format!("starved: {name}"), truth, arguments, starvation));
    };
    // 25 requests are under way at once.
    for ports in [5, 10, 20] {
        let arguments = "{url} --rate 500 --no-keep-alive --for {length}";
        starved(format!("{ports} local ports"), FIFTY_MS, arguments, Starvation::Ports { ports });
    }
    for descriptors in [48, 64, 96] {
        starved(
            format!("{descriptors} descriptors"),
            TWO_SECONDS,
            "{url} --rate 100 --for {length}",
            Starvation::Descriptors { descriptors },
        );
    }
    for turns in [250_000, 1_000_000, 2_500_000] {
        let arguments = format!("{{scripts}}/heavy.load.ts -p target={{url}} -p length={{length}} -p turns={turns}");
        starved(format!("a script that computes {turns} turns"), FIVE_MS, &arguments, Starvation::None);
    }
    for rate in [200_000, 400_000, 900_000] {
        starved(
            format!("{rate}/s are more than a core can send"),
            INSTANT,
            &format!("{{url}} --rate {rate} --for {{length}}"),
            Starvation::None,
        );
    }
    for users in [100, 400, 1_000] {
        starved(
            format!("{users} users saturate the core"),
            INSTANT,
            &format!("{{url}} --users {users} --for {{length}}"),
            Starvation::None,
        );
    }
    trials
}

impl Trial {
    /// `seed`: of what the server and the generator draw.
    pub(super) fn run(&self, tools: &TrialFiles, seed: u64) -> Result<SelfVerdict> {
        let truth: Value = serde_json::from_str(self.truth)?;
        let few_ports = match self.starvation {
            Starvation::Ports { ports } => Some(FewPorts::begin(ports)?),
            _ => None,
        };
        let network = few_ports.as_ref().map(FewPorts::network);
        // The truth server knows no WebSocket.
        let websocket = (truth["kind"] == "websocket").then(|| tools.scripts.join("websocket.py"));
        let truthful = Truthful::start(network.as_deref(), websocket.as_deref().unwrap_or(&tools.server), &truth, seed)?;
        let wire = WireRecord::begin(port_of(&truthful.url)?, network.as_deref())?;
        let words = entering(network.as_deref()).into_iter().chain(self.command(tools, seed, &truthful.url)).collect::<Vec<_>>();
        let mut command = self.starvation.wrap(&words);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.with_context(|| format!("starting {words:?}"))?;
        let hold = self.starvation.begin(child.id())?;
        starved(&mut child)?;
        drop(hold);
        let output = child.wait_with_output()?;
        drop(truthful);
        let true_ns = wire.times();
        if output.status.code() == Some(REFUSED) {
            return Ok(SelfVerdict::refused());
        }
        if !output.status.code().is_some_and(|code| MEASURED.contains(&code)) {
            bail!("loadstone ended with {}", output.status);
        }
        let judged = process::output(Command::new(&tools.judge).args(["show", "latest", "--json", "--runs"]).arg(&tools.runs))?;
        fs::remove_dir_all(&tools.runs)?;
        let summary = serde_json::from_str(&judged).context("the summary that loadstone showed")?;
        SelfVerdict::read(&summary, &true_ns, self.asked(tools.seconds))
    }

    /// Requests that an open load given by flags asks for.
    fn asked(&self, seconds: u64) -> Option<f64> {
        let length = format!("{seconds}s");
        let words: Vec<String> = self.arguments.split(' ').map(|word| word.replace("{length}", &length)).collect();
        let after = |flag: &str| words.iter().position(|word| *word == flag).and_then(|index| words.get(index + 1));
        let (rate, length) = (after("--rate")?, after("--for")?);
        Some(rate.parse::<f64>().ok()? * length.strip_suffix('s')?.parse::<f64>().ok()?)
    }

    /// The words of the command, pinned to the generator's core.
    fn command(&self, tools: &TrialFiles, seed: u64, url: &str) -> Vec<String> {
        let (scripts, length, seed) = (tools.scripts.to_string_lossy(), format!("{}s", tools.seconds), seed.to_string());
        let fill = |word: &str| word.replace("{url}", url).replace("{scripts}", &scripts).replace("{length}", &length);
        let runs = tools.runs.to_string_lossy().into_owned();
        let fixed = ["taskset".to_owned(), "-c".to_owned(), GENERATOR_CORE.to_string(), tools.binary.to_string_lossy().into_owned()];
        let rest = ["run".to_owned()].into_iter().chain(self.arguments.split(' ').map(fill));
        fixed.into_iter().chain(rest).chain(["--quiet", "--runs", &runs, "--seed", &seed].map(str::to_owned)).collect()
    }
}

/// Waits until the generator ends, or has been starved for long enough: one that gets next to nothing does not end by itself in minutes.
#[expect(clippy::disallowed_methods, reason = "it measures how long it has waited, and trials uses none of the project's crates")]
fn starved(generator: &mut Child) -> Result<()> {
    let began = Instant::now();
    while generator.try_wait()?.is_none() && began.elapsed() < STARVED_AT_MOST {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Of a URL such as `http://127.0.0.1:4000/`.
fn port_of(url: &str) -> Result<u16> {
    let port = url.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
    port.with_context(|| format!("{url} has no port"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_enough_clean_settings_and_three_severities_of_each_way_to_starve() {
        let trials = all();
        let (clean, starved): (Vec<&Trial>, Vec<&Trial>) = trials.iter().partition(|trial| trial.name.starts_with("clean: "));
        assert!(clean.len() >= 8 && starved.len() >= 36 && starved.len().is_multiple_of(3), "{} {}", clean.len(), starved.len());
        let names: BTreeSet<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
        assert_eq!(names.len(), trials.len());
        assert!(trials.iter().all(|trial| serde_json::from_str::<Value>(trial.truth).is_ok()));
    }

    #[test]
    fn what_a_trial_asks_for_and_where_its_server_is() {
        let find = |name: &str| all().into_iter().find(|trial| trial.name == name).unwrap();
        assert_eq!((find("clean: 1,000/s").asked(2), find("clean: 20 users").asked(2)), (Some(2_000.0), None));
        assert_eq!((find("clean: 10/s").asked(2), port_of("http://127.0.0.1:4711/").unwrap()), (Some(40.0), 4711));
        assert!(port_of("http://localhost/").is_err());
    }

    #[test]
    fn every_word_of_a_command_is_filled_in() {
        let tools = TrialFiles {
            seconds: 3,
            binary: "ls".into(),
            judge: "ls".into(),
            runs: "runs".into(),
            server: "truth".into(),
            scripts: "scripts".into(),
        };
        for trial in all() {
            let words = trial.command(&tools, 7, "http://127.0.0.1:1/").join(" ");
            assert!(!words.contains('{') && words.ends_with("--seed 7"), "{words}");
        }
    }
}
