//! The command that generates the load: starts it in its own process group, ends it, and measures its CPU time.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use loadstone_metrics::CommandEnd;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

use crate::tool_cpu::{CpuMeter, CpuUse, ToolProcesses};

/// A process that runs.
pub(crate) struct ToolProcess {
    child: Option<Child>,
    /// Its group if Loadstone started it, otherwise only itself.
    pid: Pid,
    was_signalled: bool,
    cpu: CpuMeter,
}

impl ToolProcess {
    /// Starts a command. It gets its own process group, so that Ctrl-C reaches it once, through Loadstone.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Self { child: Some(child), pid, was_signalled: false, cpu: CpuMeter::default() })
    }

    /// Its outputs, where they are pipes and were not taken yet.
    pub(crate) fn outputs(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        self.child.as_mut().map_or((None, None), |child| (child.stdout.take(), child.stderr.take()))
    }

    /// A process that already runs. `None`: there is no such process.
    pub(crate) fn existing(pid: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let mut process = exists(pid).then(|| Self { child: None, pid, was_signalled: false, cpu: CpuMeter::default() })?;
        // What it used before does not count.
        process.cpu();
        Some(process)
    }

    /// How it ended. `None`: it still runs. A process that Loadstone did not start has no exit code.
    pub(crate) fn end(&mut self) -> Option<CommandEnd> {
        let status = match &mut self.child {
            Some(child) => child.try_wait().ok().flatten()?,
            None if exists(self.pid) => return None,
            None => return Some(CommandEnd::Exited(0)),
        };
        Some(self.end_of(status))
    }

    fn end_of(&self, status: ExitStatus) -> CommandEnd {
        match (status.code(), status.signal()) {
            (Some(code), _) => CommandEnd::Exited(code as u8),
            (None, _) if self.was_signalled => CommandEnd::Stopped,
            (None, signal) => CommandEnd::Killed(signal.unwrap_or(0) as u8),
        }
    }

    /// Asks it to end, as Ctrl-C does. A process that Loadstone did not start is left alone.
    pub(crate) fn interrupt(&mut self) {
        self.signal(Signal::INT);
    }

    /// Ends it and all that it started.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    fn signal(&mut self, signal: Signal) {
        if self.child.is_some() {
            self.was_signalled = true;
            // It may have ended meanwhile.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// CPU time of it and all that it started since the last call.
    pub(crate) fn cpu(&mut self) -> CpuUse {
        self.cpu.read(ToolProcesses { root: self.pid.as_raw_nonzero().get(), has_group: self.child.is_some() })
    }

    /// Samples how late its threads read in the window since the last call. Nanoseconds.
    pub(crate) fn sample(&mut self, window_ns: u64) {
        self.cpu.sample(window_ns);
    }
}

impl Drop for ToolProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child
            && matches!(child.try_wait(), Ok(None))
        {
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = child.wait();
        }
    }
}

fn exists(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}
