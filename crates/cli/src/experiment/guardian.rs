//! A process that puts the knob back should this one be killed: a pipe's end is all that it waits for.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Reads a line; without one, this binary's arguments follow.
const WAITS: &str = "read -r done || exec \"$@\"";

pub(super) struct Guardian {
    child: Child,
}

impl Guardian {
    /// `arguments`: of this binary, which put the knob back.
    pub(super) fn start(arguments: &[String]) -> anyhow::Result<Self> {
        let binary = std::env::current_exe().context("cannot find this binary")?;
        let mut command = Command::new("sh");
        command.args(["-c", WAITS, "sh"]).arg(binary).args(arguments);
        // A group of its own: Ctrl-C is not for it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self { child: command.spawn().context("cannot start sh")? })
    }

    /// All is as it was.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.child.wait();
    }
}
