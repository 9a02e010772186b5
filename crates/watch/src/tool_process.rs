//! The command that generates the load: starts it in its own process group, ends it, and measures its CPU time.

use std::collections::HashMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use loadstone_metrics::CommandEnd;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

/// A process that runs.
pub(crate) struct ToolProcess {
    child: Option<Child>,
    /// Its group if Loadstone started it, otherwise only itself.
    pid: Pid,
    was_signalled: bool,
    cpu: CpuMeter,
}

/// CPU time since the last reading. Nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuUse {
    pub(crate) all_ns: u64,
    pub(crate) busiest_thread_ns: u64,
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
        exists(pid).then(|| Self { child: None, pid, was_signalled: false, cpu: CpuMeter::default() })
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

    /// CPU time of its process group since the last call.
    pub(crate) fn cpu(&mut self) -> CpuUse {
        self.cpu.read(self.pid.as_raw_nonzero().get(), self.child.is_some())
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

/// CPU time by thread, from `/proc` (proc_pid_stat(5)).
#[derive(Default)]
struct CpuMeter {
    /// Ticks by thread at the last reading.
    threads: HashMap<i32, u64>,
}

impl CpuMeter {
    fn read(&mut self, group: i32, whole_group: bool) -> CpuUse {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let mut found: HashMap<i32, u64> = HashMap::new();
        for pid in numbers_in("/proc") {
            let is_mine = if whole_group { group_of(pid) == Some(group) } else { pid == group };
            if is_mine {
                let tasks = numbers_in(&format!("/proc/{pid}/task"));
                found.extend(tasks.filter_map(|task| Some((task, ticks(&format!("/proc/{pid}/task/{task}/stat"))?))));
            }
        }
        let used = |(task, ticks): (&i32, &u64)| ticks.saturating_sub(self.threads.get(task).copied().unwrap_or(0)) * tick_ns;
        let all_ns = found.iter().map(used).sum();
        let busiest_thread_ns = found.iter().map(used).max().unwrap_or(0);
        self.threads = found;
        CpuUse { all_ns, busiest_thread_ns }
    }
}

fn numbers_in(folder: &str) -> impl Iterator<Item = i32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fields of `stat` after the name, which may contain anything.
fn fields(path: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text[text.rfind(')')? + 1..].split_whitespace().map(str::to_owned).collect())
}

fn group_of(pid: i32) -> Option<i32> {
    fields(&format!("/proc/{pid}/stat"))?.get(2)?.parse().ok()
}

/// User and system time in clock ticks.
fn ticks(path: &str) -> Option<u64> {
    let fields = fields(path)?;
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
