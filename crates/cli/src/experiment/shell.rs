//! A line of shell with a time limit.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use loadstone_metrics::clock::Monotonic;
use rustix::process::{Pid, Signal, kill_process_group};

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Of what a failed command said, the end.
const SAID_MAX: usize = 400;

/// Runs a line to its end. It has a process group of its own: Ctrl-C is for Loadstone, which still needs the command to go back.
///
/// # Errors
/// With what the command said, when it fails or takes too long; it is killed then.
pub(super) fn run(line: &str, folder: &Path, within_ns: u64) -> anyhow::Result<()> {
    // Not a pipe: a server that the command starts would hold it open.
    let mut said = tempfile::tempfile().context("cannot keep what the command says")?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(folder).process_group(0).stdin(Stdio::null());
    command.stdout(said.try_clone()?).stderr(said.try_clone()?);
    let mut child = command.spawn().context("cannot start sh")?;
    let clock = Monotonic::start();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if clock.now() > within_ns => {
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                bail!("`{line}` did not end within {}", loadstone_units::duration::format(within_ns));
            }
            None => std::thread::sleep(LOOK),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let end: String = text.trim().chars().rev().take(SAID_MAX).collect::<Vec<_>>().into_iter().rev().collect();
    bail!("`{line}` ended with {status}{}{end}", if end.is_empty() { "" } else { ": " })
}
