//! A process that restores the knob if this process is killed. It waits until its pipe closes.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

/// Waits for a line. If the pipe closes without one, runs this binary with the arguments that follow.
const WAIT_FOR_LINE_SCRIPT: &str = "read -r done || exec \"$@\"";

pub(super) struct Guardian {
    child: Child,
}

impl Guardian {
    /// `arguments`: arguments of this binary that restore the knob.
    pub(super) fn start(arguments: &[String]) -> anyhow::Result<Self> {
        let binary = std::env::current_exe().context("cannot find this binary")?;
        let mut command = Command::new("sh");
        command.args(["-c", WAIT_FOR_LINE_SCRIPT, "sh"]).arg(binary).args(arguments);
        // A separate process group, so that Ctrl-C does not reach it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self { child: command.spawn().context("cannot start sh")? })
    }

    /// The knob is restored: the guardian can exit.
    pub(super) fn dismiss(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.child.wait();
    }
}
