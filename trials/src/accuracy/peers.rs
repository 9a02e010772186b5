//! The generators, each as the command that its own users would type, before the servers of `published`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::machine::{self, GENERATOR_CORE};
use checkout::process;
use serde_json::Value;

use super::published::{PublishedCase, Wire};
use super::readers::{self, PeerReport};
use super::server::Truthful;
use crate::starve::Starvation;
use crate::stillness::{Stillness, StillnessWatch};

/// Requests of closed generators in progress at a time, where a case sets no limit.
const CLOSED_CONNECTIONS: u32 = 50;

pub(super) struct PeerGenerator {
    pub(super) name: &'static str,
    /// Empty: the binary under test.
    program: &'static str,
    /// For a shell, with `{program}`, `{url}`, `{rate}`, `{seconds}`, `{connections}`, `{options}` and so on to be filled in.
    line: &'static str,
    /// Options for HTTP/2 over plain TCP, and for a new connection each time; `None`: it cannot.
    http2: Option<&'static str>,
    closes: Option<&'static str>,
    /// The option that limits the requests in progress, for a generator that does not need a number of connections anyway.
    cap: Option<&'static str>,
    http1: bool,
    /// It waits for a response before it sends the next request, so it has a number of users instead of a schedule.
    pub(super) closed: bool,
    /// It discards what it measures in its first ten seconds, and 5 ms more for each connection.
    calibrates: bool,
    read: fn(&str) -> PeerReport,
}

const OPEN: PeerGenerator = PeerGenerator {
    name: "",
    program: "",
    line: "",
    http2: None,
    closes: None,
    cap: Some(""),
    http1: true,
    closed: false,
    calibrates: false,
    read: readers::wrk,
};

pub(super) const GENERATORS: &[PeerGenerator] = &[
    PeerGenerator {
        name: "Loadstone",
        line: "{program} run {url} --rate {rate} --for {seconds}s --quiet --no-save --json {options}",
        http2: Some("--http2=only"),
        closes: Some("--no-keep-alive"),
        cap: Some("--max-users {connections}"),
        read: readers::loadstone,
        ..OPEN
    },
    PeerGenerator {
        name: "wrk2",
        program: "wrk2",
        line: "{program} -t1 -c{connections} -R{rate} -d{long}s --latency {options} {url}",
        closes: Some("-H 'Connection: close'"),
        calibrates: true,
        ..OPEN
    },
    PeerGenerator {
        name: "vegeta",
        program: "vegeta",
        line: "echo 'GET {url}' | {program} attack -rate {rate} -duration {seconds}s {options} | {program} report -type=json",
        http2: Some("-h2c"),
        closes: Some("-keepalive=false"),
        cap: Some("-max-workers {connections}"),
        read: readers::vegeta,
        ..OPEN
    },
    PeerGenerator {
        name: "oha",
        program: "oha",
        line: "{program} --no-tui --output-format json -c {connections} -q {rate} --latency-correction -w -z {seconds}s {options} {url}",
        http2: Some("--http2 -p 1000"),
        closes: Some("--disable-keepalive"),
        read: readers::oha,
        ..OPEN
    },
    PeerGenerator {
        name: "k6",
        program: "k6",
        line: "{program} run --quiet -e URL={url} -e RATE={rate} -e SECONDS={seconds} -e USERS={connections} {options} \
               --summary-export {folder}/k6-summary.json --summary-trend-stats 'p(50),p(90),p(99),p(99.9)' {bench}/k6-stall.js >/dev/null; \
               cat {folder}/k6-summary.json",
        closes: Some("--no-connection-reuse"),
        read: readers::k6,
        ..OPEN
    },
    PeerGenerator {
        name: "Gatling",
        program: "gatling",
        line: "{program} -Durl={url} -Drate={rate} -Dseconds={seconds} -Dshare={share_connections} {options} io.gatling.app.Gatling \
               -s Rate -rf {folder}/gatling",
        closes: Some(""),
        cap: None,
        read: readers::gatling,
        ..OPEN
    },
    PeerGenerator {
        name: "h2load",
        program: "h2load",
        line: "{program} -t1 -c1 -m1000 --rps={rate} -D{seconds} --log-file={folder}/h2load.tsv {url} >/dev/null; cat {folder}/h2load.tsv",
        http2: Some(""),
        http1: false,
        read: readers::h2load,
        ..OPEN
    },
    // Workers of `{rate}`/`{connections}` each.
    PeerGenerator {
        name: "hey -q",
        program: "hey",
        line: "{program} -c {connections} -q {share} -z {seconds}s {options} {url}",
        closes: Some("-disable-keepalive"),
        closed: true,
        read: readers::hey,
        ..OPEN
    },
    PeerGenerator {
        name: "wrk",
        program: "wrk",
        line: "{program} -t1 -c{connections} -d{seconds}s --latency {options} {url}",
        closes: Some("-H 'Connection: close'"),
        closed: true,
        ..OPEN
    },
];

/// One run of one generator.
pub(super) struct PeerRun {
    pub(super) report: PeerReport,
    /// As a person would type it.
    pub(super) command: String,
    /// Requests that the server received, of those that the schedule has.
    pub(super) arrived: f64,
    pub(super) stillness: Stillness,
}

impl PeerGenerator {
    /// Where it is installed. Skipping it is reported.
    pub(super) fn find(&self, workspace: &Workspace, binary: &Path) -> Result<Option<PathBuf>> {
        if self.program.is_empty() {
            return Ok(Some(binary.to_path_buf()));
        }
        let found = machine::generator(workspace, self.program);
        if found.is_none() {
            process::pass_over(&format!("{}, which is not installed", self.name))?;
        }
        Ok(found)
    }

    /// Options for the case's connections; `None` if the generator has no such mode.
    fn options(&self, case: &PublishedCase) -> Option<&'static str> {
        match case.wire {
            Wire::Http1 => self.http1.then_some(""),
            Wire::Capped => self.cap.filter(|_| self.http1),
            Wire::NewConnections => self.closes.filter(|_| self.http1),
            Wire::Http2 { .. } => self.http2,
        }
    }

    /// Runs it once before a new server. `None` if it cannot generate this load.
    pub(super) fn run(&self, workspace: &Workspace, program: &Path, server: &Path, case: &PublishedCase) -> Result<Option<PeerRun>> {
        let Some(options) = self.options(case) else { return Ok(None) };
        let scratch = std::env::temp_dir().join(format!("loadstone-accuracy-{}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        let connections = if self.closed { case.connections.min(CLOSED_CONNECTIONS) } else { case.connections };
        let lead_s = if self.calibrates { 10.0 + 0.005 * f64::from(connections) } else { 0.0 };
        let streams = if let Wire::Http2 { streams } = case.wire { Some(streams) } else { None };
        let truthful = Truthful::awake_after(server, &case.truth, lead_s, streams)?;
        let fill = |program: &str, url: &str, folder: &str, bench: &str| {
            let share = f64::from(case.rate) / f64::from(connections);
            self.line
                .replace("{options}", options)
                .replace("{program}", program)
                .replace("{url}", url)
                .replace("{rate}", &case.rate.to_string())
                .replace("{long}", &format!("{:.0}", (lead_s + f64::from(case.seconds)).ceil()))
                .replace("{seconds}", &case.seconds.to_string())
                .replace("{connections}", &connections.to_string())
                .replace("{share_connections}", &(case.wire != Wire::NewConnections).to_string())
                .replace("{share}", &share.to_string())
                .replace("{folder}", folder)
                .replace("{bench}", bench)
        };
        let bench = workspace.root.join("bench");
        let line = fill(&program.to_string_lossy(), &truthful.url, &scratch.to_string_lossy(), &bench.to_string_lossy());
        let watch = StillnessWatch::begin();
        let text = under_limit(&line, case.cpu_percent)?;
        let stillness = watch.end()?;
        let account = truthful.account()?;
        fs::remove_dir_all(&scratch)?;
        let name = if self.program.is_empty() { "loadstone" } else { self.program };
        let command = fill(name, "URL", "FOLDER", "bench").split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Some(PeerRun { report: (self.read)(&text), command, arrived: arrived(&account, case)?, stillness }))
    }
}

/// Of the requests that the schedule has.
fn arrived(account: &Value, case: &PublishedCase) -> Result<f64> {
    let requests = account["requests"].as_f64().context("the truth server's account has no number of requests")?;
    Ok(requests / (f64::from(case.rate) * f64::from(case.seconds)))
}

/// What a line of the shell prints, run on the generator's core. Its exit code is not judged: the words are.
fn under_limit(line: &str, cpu_percent: Option<u64>) -> Result<String> {
    let mut command = Command::new("taskset");
    // The shell begins once it is in its control group, so that all of its processes are.
    command.args(["-c", &GENERATOR_CORE.to_string(), "sh", "-c", &format!("read _; {line}")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("starting a shell")?;
    let starvation = cpu_percent.map_or(Starvation::None, |percent| Starvation::Quota { percent, period_ms: 100 });
    let limit = starvation.begin(child.id())?;
    child.stdin.take().context("its standard input was asked for")?.write_all(b"\n")?;
    let output = child.wait_with_output()?;
    drop(limit);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_runs_in_a_shell_after_its_gate_is_opened() {
        assert_eq!(under_limit("printf '%s %s\\n' one two | tr a-z A-Z", None).unwrap(), "ONE TWO\n");
    }

    #[test]
    fn the_share_of_the_schedule_that_arrived() {
        let case = &super::super::published::all()[0];
        assert!((arrived(&serde_json::json!({ "requests": 2_500 }), case).unwrap() - 0.25).abs() < 1e-9);
        assert!(arrived(&Value::Null, case).is_err());
    }
}
