//! A lab's system while it runs: what `labs/NAME/start.mjs` starts and stops.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use checkout::Workspace;

/// The line that the start command prints last.
const LAST: &str = "settings";
/// The line that it prints instead, where it stays and waits for another order.
const FAILED: &str = "failed";

pub(crate) struct LabSystem {
    child: Child,
    /// What it printed: `payments` → `http://127.0.0.1:40001`.
    addresses: BTreeMap<String, String>,
    /// Kept open: a service that writes to a closed pipe would end.
    lines: Lines<BufReader<ChildStdout>>,
}

/// A port that nobody listens on now.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl LabSystem {
    /// Starts a lab on free ports, with faults as environment variables.
    pub(crate) fn start(workspace: &Workspace, lab: &str, faults: &[(&str, &str)]) -> Result<Self> {
        let mut system =
            Self::spawn(workspace, lab, |command| command.args(["--port", "0"]).envs(faults.iter().copied()).stdin(Stdio::null()))?;
        system.read_addresses()?;
        Ok(system)
    }

    /// Starts a lab that sets up one system after another, as [`Self::switch`] orders; nothing of it is up yet.
    pub(crate) fn serve(workspace: &Workspace, lab: &str) -> Result<Self> {
        Self::spawn(workspace, lab, |command| command.arg("--serve").stdin(Stdio::piped()))
    }

    fn spawn(workspace: &Workspace, lab: &str, arrange: impl Fn(&mut Command) -> &mut Command) -> Result<Self> {
        let start = format!("labs/{lab}/start.mjs");
        let mut command = workspace.command("node");
        let mut child =
            arrange(command.arg(&start)).stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `node {start}`"))?;
        let lines = BufReader::new(child.stdout.take().context("standard output was asked for as a pipe")?).lines();
        Ok(Self { child, addresses: BTreeMap::new(), lines })
    }

    /// Ends the system that is up, and sets up the one that is ordered, in one line.
    pub(crate) fn switch(&mut self, order: &str) -> Result<()> {
        let stdin = self.child.stdin.as_mut().context("this lab takes no orders")?;
        writeln!(stdin, "{order}").context("the lab has ended")?;
        self.read_addresses()
    }

    fn read_addresses(&mut self) -> Result<()> {
        self.addresses.clear();
        while !self.addresses.contains_key(LAST) {
            let Some(line) = self.lines.next() else { bail!("the lab ended before it was up: {}", self.child.wait()?) };
            if let Some((name, value)) = line?.split_once(": ") {
                if name == FAILED {
                    bail!("the lab was not up: {value}");
                }
                self.addresses.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(())
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
