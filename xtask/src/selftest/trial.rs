//! The trials: a server, a load, and what starves the generator meanwhile.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::starve::{self, Starvation};
use super::verdict::SelfVerdict;
use crate::accuracy::server::Truthful;
use crate::machine::GENERATOR_CORE;

/// Exit codes with a summary: passed, and "the measurement is invalid".
const MEASURED: [i32; 2] = [0, 4];
/// It said that it could not make the load, and made none.
const REFUSED: i32 = 2;

/// Programs and files that trials need.
pub(super) struct TrialFiles {
    pub(super) binary: PathBuf,
    pub(super) server: PathBuf,
    pub(super) scripts: PathBuf,
}

pub(super) struct Trial {
    pub(super) name: &'static str,
    /// What the server does: a `Truth` of crates/stub.
    truth: &'static str,
    /// Of `loadstone run`; `{url}` and `{scripts}` are filled in.
    arguments: &'static str,
    starvation: Starvation,
}

const FIVE_MS: &str = r#"{"kind": "delay", "delay": "5ms"}"#;
const INSTANT: &str = r#"{"kind": "instant"}"#;
const FIFTY_MS: &str = r#"{"kind": "delay", "delay": "50ms"}"#;

const fn clean(name: &'static str, truth: &'static str, arguments: &'static str) -> Trial {
    Trial { name, truth, arguments, starvation: Starvation::None }
}

const fn starved(name: &'static str, truth: &'static str, arguments: &'static str, starvation: Starvation) -> Trial {
    Trial { name, truth, arguments, starvation }
}

pub(super) const ALL: &[Trial] = &[
    clean("clean: 100/s", FIVE_MS, "{url} --rate 100 --for 5s"),
    clean("clean: 1,000/s", FIVE_MS, "{url} --rate 1000 --for 5s"),
    clean("clean: 3,000/s, instant responses", INSTANT, "{url} --rate 3000 --for 5s"),
    clean("clean: 500/s at random moments", FIVE_MS, "{url} --rate 500 --poisson --for 5s"),
    clean("clean: 20 users", FIVE_MS, "{url} --users 20 --for 5s"),
    clean("clean: 200 users, slow responses", FIFTY_MS, "{url} --users 200 --for 5s"),
    clean(
        "clean: the target stalls for a second",
        r#"{"kind": "stall", "after_ns": 2000000000, "length_ns": 1000000000}"#,
        "{url} --rate 500 --for 5s",
    ),
    clean("clean: two delays", r#"{"kind": "bimodal", "fast": "5ms", "slow": "50ms", "slow_share": 0.03}"#, "{url} --rate 500 --for 5s"),
    clean("clean: a queue at 70 %", r#"{"kind": "single_server", "mean_service_ns": 1000000}"#, "{url} --rate 700 --poisson --for 5s"),
    clean("clean: a connection for each request", FIVE_MS, "{url} --rate 200 --no-keep-alive --for 5s"),
    clean(
        "clean: bodies that drip",
        r#"{"kind": "slow_body", "bytes": 10000, "piece_bytes": 1000, "pause_ns": 5000000}"#,
        "{url} --rate 100 --for 5s",
    ),
    clean("clean: a script", FIVE_MS, "{scripts}/light.load.ts -p target={url}"),
    starved("starved: CPU limit of 3 %", FIVE_MS, "{url} --rate 3000 --for 5s", Starvation::Quota { percent: 3 }),
    starved("starved: CPU limit of 10 %", FIVE_MS, "{url} --rate 8000 --for 5s", Starvation::Quota { percent: 10 }),
    starved("starved: four hogs on the core", FIVE_MS, "{url} --rate 2000 --for 5s", Starvation::Hogs { count: 4, nice: 0 }),
    starved("starved: one hog, generator at low priority", FIVE_MS, "{url} --rate 1000 --for 5s", Starvation::Hogs { count: 1, nice: 15 }),
    starved("starved: stopped for 300 ms", FIVE_MS, "{url} --rate 1000 --for 5s", Starvation::Stop { milliseconds: 300 }),
    starved("starved: stopped for 80 ms", FIVE_MS, "{url} --rate 1000 --for 5s", Starvation::Stop { milliseconds: 80 }),
    starved("starved: 40 local ports", FIVE_MS, "{url} --rate 500 --no-keep-alive --for 5s", Starvation::Ports),
    starved("starved: 64 descriptors", r#"{"kind": "delay", "delay": "2s"}"#, "{url} --rate 100 --for 5s", Starvation::Descriptors),
    starved("starved: a script that computes", FIVE_MS, "{scripts}/heavy.load.ts -p target={url}", Starvation::None),
    starved("starved: more than a core can send", INSTANT, "{url} --rate 400000 --for 5s", Starvation::None),
    starved("starved: users that saturate the core", INSTANT, "{url} --users 100 --for 5s", Starvation::None),
];

impl Trial {
    pub(super) fn is_starved(&self) -> bool {
        self.name.starts_with("starved")
    }

    pub(super) fn is_right(&self, grade: &str) -> bool {
        (grade == "valid") != self.is_starved()
    }

    pub(super) fn run(&self, tools: &TrialFiles) -> Result<SelfVerdict> {
        let output = match self.starvation {
            Starvation::Ports => starve::few_ports(&tools.server, self.truth, &self.command(tools, "$url"))?,
            _ => {
                let truthful = Truthful::start(&tools.server, &serde_json::from_str(self.truth)?, 1)?;
                let words = self.command(tools, &truthful.url);
                let mut command = self.starvation.wrap(&words);
                let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
                let child = child.with_context(|| format!("starting {words:?}"))?;
                let hold = self.starvation.begin(child.id())?;
                let output = child.wait_with_output()?;
                drop(hold);
                output
            }
        };
        if output.status.code() == Some(REFUSED) {
            return Ok(SelfVerdict { grade: "refused".to_owned(), checks: vec!["before the load".to_owned()] });
        }
        if !output.status.code().is_some_and(|code| MEASURED.contains(&code)) {
            bail!("loadstone ended with {}", output.status);
        }
        SelfVerdict::read(&serde_json::from_slice(&output.stdout).context("the summary that loadstone printed")?)
    }

    /// The words of the command, pinned to the generator's core.
    fn command(&self, tools: &TrialFiles, url: &str) -> Vec<String> {
        let fill = |word: &str| word.replace("{url}", url).replace("{scripts}", &tools.scripts.to_string_lossy());
        let fixed = ["taskset".to_owned(), "-c".to_owned(), GENERATOR_CORE.to_string(), tools.binary.to_string_lossy().into_owned()];
        let rest = ["run".to_owned()].into_iter().chain(self.arguments.split(' ').map(fill));
        fixed.into_iter().chain(rest).chain(["--no-save", "--quiet", "--json"].map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_right() {
        let (clean, starved): (Vec<&Trial>, Vec<&Trial>) = ALL.iter().partition(|trial| !trial.is_starved());
        assert!(clean.len() >= 10 && starved.len() >= 10);
        assert!(clean.iter().all(|trial| trial.name.starts_with("clean: ") && trial.is_right("valid") && !trial.is_right("suspect")));
        assert!(starved.iter().all(|trial| trial.is_right("suspect") && trial.is_right("invalid") && !trial.is_right("valid")));
        assert!(ALL.iter().all(|trial| serde_json::from_str::<serde_json::Value>(trial.truth).is_ok()));
    }
}
