//! A lab's system while it runs: what `labs/NAME/start.mjs` starts and stops.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// The line that the start command prints last.
const LAST: &str = "settings";

pub(crate) struct LabSystem {
    child: Child,
    /// What it printed: `payments` → `http://127.0.0.1:40001`.
    addresses: BTreeMap<String, String>,
    /// Kept open: a service that writes to a closed pipe would end.
    _rest: Lines<BufReader<ChildStdout>>,
}

impl LabSystem {
    /// Starts a lab on free ports, with faults as environment variables.
    pub(crate) fn start(workspace: &Workspace, lab: &str, faults: &[(&str, &str)]) -> Result<Self> {
        let start = format!("labs/{lab}/start.mjs");
        let mut command = workspace.command("node");
        command.args([&start, "--port", "0"]).envs(faults.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `node {start}`"))?;
        let mut lines = BufReader::new(child.stdout.take().context("standard output was asked for as a pipe")?).lines();
        let mut addresses = BTreeMap::new();
        while !addresses.contains_key(LAST) {
            let Some(line) = lines.next() else {
                bail!("`node {start}` ended before the lab was up: {}", child.wait()?);
            };
            if let Some((name, value)) = line?.split_once(": ") {
                addresses.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(Self { child, addresses, _rest: lines })
    }

    /// Where a part listens.
    pub(crate) fn address(&self, part: &str) -> Result<&str> {
        self.addresses.get(part).map(String::as_str).with_context(|| format!("the lab did not say where its {part} listens"))
    }
}

impl Drop for LabSystem {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // SAFETY: a plain system call on a process that has not been waited for, so its number is still its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        let _ended = self.child.wait();
    }
}
