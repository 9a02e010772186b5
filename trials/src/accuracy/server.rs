//! The truth server of crates/stub in a separate process, pinned to the second core.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::machine::SERVER_CORE;
use checkout::process;
use serde_json::Value;

/// Builds the example that serves a truth.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    process::run(workspace.command("cargo").args(["build", "--release", "--locked", "--package", "loadstone-stub", "--example", "truth"]))?;
    Ok(workspace.target.join("release/examples/truth"))
}

/// The words before a command that is to run in a network namespace.
pub(crate) fn entering(network: Option<&Path>) -> Vec<String> {
    network.map_or_else(Vec::new, |network| vec!["nsenter".to_owned(), format!("--net={}", network.display())])
}

/// A running truth server. Dropping it ends it.
pub(crate) struct Truthful {
    pub(crate) url: String,
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Truthful {
    /// `truth`: a `Truth` of crates/stub; `network`: the namespace it is to run in.
    pub(crate) fn start(network: Option<&Path>, program: &Path, truth: &Value, seed: u64) -> Result<Self> {
        Self::spawn(network, program, &[truth.to_string(), seed.to_string()])
    }

    /// A server that never sleeps, so that its own delay is not counted as the generator's error.
    pub(super) fn awake(program: &Path, truth: &Value, seed: u64) -> Result<Self> {
        Self::spawn(None, program, &[truth.to_string(), seed.to_string(), "awake".to_owned()])
    }

    /// The same; the rule begins `lead_s` after the first request, and a connection of HTTP/2 has so many streams.
    pub(super) fn awake_after(program: &Path, truth: &Value, lead_s: f64, streams: Option<u32>) -> Result<Self> {
        let words = [truth.to_string(), "1".to_owned(), "awake".to_owned(), format!("lead={lead_s}")];
        let streams = streams.map(|streams| format!("streams={streams}"));
        Self::spawn(None, program, &words.into_iter().chain(streams).collect::<Vec<_>>())
    }

    fn spawn(network: Option<&Path>, program: &Path, arguments: &[String]) -> Result<Self> {
        let pinned = ["taskset".to_owned(), "-c".to_owned(), SERVER_CORE.to_string()];
        let mut words = entering(network).into_iter().chain(pinned);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(program).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting the truth server")?;
        let mut says = BufReader::new(child.stdout.take().context("its standard output was asked for")?);
        let mut url = String::new();
        says.read_line(&mut url)?;
        Ok(Self { url: url.trim().to_owned(), child, says })
    }

    /// Ends the server; what it says it did.
    pub(crate) fn account(mut self) -> Result<Value> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.says.read_to_string(&mut text)?;
        serde_json::from_str(&text).with_context(|| format!("the truth server's account is `{text}`"))
    }
}

impl Drop for Truthful {
    fn drop(&mut self) {
        // It ends with its standard input; a server that has ended already cannot be killed.
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}
