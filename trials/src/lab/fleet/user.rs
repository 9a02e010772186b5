//! What a user of the cluster does: starts a fleet, forwards a port, runs tests over it, and ends it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::cluster::{Cluster, NAMESPACE};
use super::daemon::Daemon;
use super::target::Target;
use crate::lab::system::free_port;

/// Agents of the fleet, of one core each.
pub(super) const AGENTS: usize = 4;
/// Arrivals a second of the lab's tests.
pub(super) const RATE: usize = 80;
/// How long pods may take to be there.
const READY_SECONDS: u32 = 120;

/// Dropped from the first field to the last: users of the cluster end before the cluster, whose end removes everything.
pub(super) struct FleetUser {
    forwarded: Option<Daemon>,
    pub(super) target: Target,
    pub(super) cluster: Cluster,
    binary: PathBuf,
    tests: PathBuf,
    runs: PathBuf,
    logs: PathBuf,
    port: u16,
}

/// A run that goes on.
pub(super) struct Running {
    child: Child,
    output: PathBuf,
    log: PathBuf,
}

/// What came of it.
pub(super) struct FinishedTest {
    pub(super) code: i32,
    pub(super) summary: Value,
    /// The output of `loadstone run`.
    pub(super) log: String,
    /// How often each row came to the target.
    pub(super) rows: BTreeMap<String, usize>,
    /// Of the run directory.
    pub(super) described: Value,
}

impl FleetUser {
    pub(super) fn new(cluster: Cluster, target: Target, binary: &Path, tests: &Path, (runs, logs): (&Path, &Path)) -> Result<Self> {
        fs::create_dir_all(runs)?;
        let (binary, tests, runs, logs) = (binary.to_owned(), tests.to_owned(), runs.to_owned(), logs.to_owned());
        Ok(Self { cluster, target, binary, tests, runs, logs, forwarded: None, port: free_port()? })
    }

    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    fn loadstone(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        self.cluster.with_access(command)
    }

    /// `loadstone fleet COMMAND --kubernetes`: its exit code and output.
    pub(super) fn fleet(&self, command: &str, further: &[&str]) -> Result<(i32, String)> {
        let mut command = self.loadstone(&[&["fleet", command, "--kubernetes", "--namespace", NAMESPACE], further].concat())?;
        let output = command.stdin(Stdio::null()).output()?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Ok((output.status.code().unwrap_or(-1), text))
    }

    /// Waits until `fleet status` says that all are ready. How long it took, seconds.
    pub(super) fn wait_until_ready(&mut self) -> Result<f64> {
        let mut command = self.loadstone(&["fleet", "status", "--kubernetes", "--namespace", NAMESPACE])?;
        let took = self.cluster.wait("all agents to be ready", READY_SECONDS, |_| {
            Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
        });
        took.with_context(|| self.fleet("status", &[]).map_or_else(|error| error.to_string(), |(_, text)| text))
    }

    /// Forwards a port to the fleet's NATS server, again whenever the pod that it went to is gone.
    pub(super) fn forward(&mut self) -> Result<()> {
        let port = self.port;
        let forward = format!("kubectl --namespace {NAMESPACE} port-forward service/loadstone-nats {port}:4222");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap 'kill $child; exit' TERM; while :; do {forward} & child=$!; wait $child; sleep 0.5; done")]);
        let mut forwarded = Daemon::start("port-forward", &mut self.cluster.with_access(shell)?, &self.logs)?;
        forwarded.wait("forwarding", 30, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok())?;
        self.forwarded = Some(forwarded);
        Ok(())
    }

    /// An entry of the fleet's secret.
    fn secret(&self, key: &str) -> Result<String> {
        let template = format!("go-template={{{{index .data \"{key}\" | base64decode}}}}");
        self.cluster.kubectl(&["--namespace", NAMESPACE, "get", "secret", "loadstone-fleet", "-o", &template])
    }

    /// Starts a test over the fleet.
    pub(super) fn start(&mut self, test: &str, seconds: usize) -> Result<Running> {
        if self.forwarded.is_none() {
            self.forward()?;
        }
        self.target.take_rows()?;
        let (authorities, output, log) = (self.runs.join("fleet-ca.crt"), self.runs.join("last.json"), self.runs.join("last.txt"));
        fs::write(&authorities, self.secret("ca.crt")?)?;
        let address = self.secret("controller")?.replace(":4222", &format!(":{}", self.port));
        let mut command = self.loadstone(&["run"])?;
        command.arg(self.tests.join(test)).args(["--json", "--agents", &AGENTS.to_string(), "--fleet", &address, "--fleet-ca"]);
        command.arg(authorities).arg("--runs").arg(&self.runs);
        for (name, value) in [("target", self.target.url.clone()), ("rate", RATE.to_string()), ("seconds", seconds.to_string())] {
            command.arg("-p").arg(format!("{name}={value}"));
        }
        let child = command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&log)?).spawn()?;
        Ok(Running { child, output, log })
    }

    /// Waits until so many requests of the run came to the target.
    pub(super) fn wait_for_requests(&mut self, running: &mut Running, requests: usize) -> Result<()> {
        for _ in 0..600 {
            if self.target.requests()? >= requests {
                return Ok(());
            }
            if let Some(status) = running.child.try_wait()? {
                bail!("the run ended with {status} before {requests} requests arrived: {}", fs::read_to_string(&running.log)?);
            }
            std::thread::sleep(super::daemon::STEP);
        }
        bail!("{requests} requests did not come within a minute")
    }

    pub(super) fn finish(&mut self, mut running: Running) -> Result<FinishedTest> {
        let code = running.child.wait()?.code().unwrap_or(-1);
        let log = fs::read_to_string(&running.log)?;
        let summary: Value =
            serde_json::from_slice(&fs::read(&running.output)?).with_context(|| format!("the run wrote no summary: {log}"))?;
        let id = summary["id"].as_str().context("a summary names its run")?;
        let described = serde_json::from_slice(&fs::read(self.runs.join(id).join("run.json"))?)?;
        Ok(FinishedTest { code, summary, log, rows: self.target.take_rows()?, described })
    }

    pub(super) fn run(&mut self, test: &str, seconds: usize) -> Result<FinishedTest> {
        let running = self.start(test, seconds)?;
        self.finish(running)
    }

    /// The pod of an index that is there now and is not about to end.
    pub(super) fn pod(&self, index: usize) -> Result<Value> {
        let selector = format!("batch.kubernetes.io/job-completion-index={index}");
        let pods = self.cluster.get_here(&["pods", "-l", &selector])?;
        let is_there = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running";
        pods["items"].as_array().into_iter().flatten().find(is_there).cloned().with_context(|| format!("there is no pod of index {index}"))
    }

    /// Takes the forwarded port away.
    pub(super) fn stop_forwarding(&mut self) {
        self.forwarded = None;
    }

    pub(super) fn evict(&self, pod: &str) -> Result<()> {
        let file = self.runs.join("eviction.json");
        let eviction = serde_json::json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod, "namespace": NAMESPACE },
        });
        fs::write(&file, eviction.to_string())?;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction");
        self.cluster.kubectl(&["create", "--raw", &path, "-f", &file.display().to_string()])?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl FinishedTest {
    /// Rows that came to the target more than once.
    pub(super) fn rows_twice(&self) -> usize {
        self.rows.values().filter(|times| **times > 1).count()
    }

    pub(super) fn requests(&self) -> u64 {
        self.summary["totals"]["requests"].as_u64().unwrap_or_default()
    }

    pub(super) fn grade(&self) -> &str {
        self.summary["verdict"]["validity"]["grade"].as_str().unwrap_or("none")
    }

    /// What the validity check of the agents says.
    pub(super) fn of_agents(&self) -> &str {
        let checks = self.summary["verdict"]["validity"]["checks"].as_array().into_iter().flatten();
        checks.clone().find(|check| check["id"] == "agents").and_then(|check| check["evidence"].as_str()).unwrap_or("nothing")
    }
}
