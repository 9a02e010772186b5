//! Runs a shell command with a time limit.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use loadstone_metrics::clock::Monotonic;
use rustix::process::{Pid, Signal, kill_process_group};

/// Interval between checks whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How much of a failed command's output, from its end, the error message contains..
const OUTPUT_CHARACTERS_MAX: usize = 400;

/// Runs a command to completion, in a separate process group: Ctrl-C goes to Loadstone, which still needs commands to restore the knob.
///
/// # Errors
/// The command failed or timed out. The error contains the end of its output. On a timeout the command is killed.
pub(super) fn run(line: &str, folder: &Path, within_ns: u64) -> anyhow::Result<()> {
    // Not a pipe: a server that the command starts would keep the pipe open.
    let mut output = tempfile::tempfile().context("cannot create a file for the command's output")?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(folder).process_group(0).stdin(Stdio::null());
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
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
            None => std::thread::sleep(POLL_INTERVAL),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let end: String = text.trim().chars().rev().take(OUTPUT_CHARACTERS_MAX).collect::<Vec<_>>().into_iter().rev().collect();
    bail!("`{line}` ended with {status}{}{end}", if end.is_empty() { "" } else { ": " })
}
