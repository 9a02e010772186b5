//! From text files of /proc.

use super::schedule::{ProcessPlace, ThreadSchedule};

pub(super) fn processes() -> Vec<ProcessPlace> {
    let place = |pid: i32| {
        let fields = fields(&format!("/proc/{pid}/stat"))?;
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<i32>().ok());
        Some(ProcessPlace { pid, parent: number(1)?, group: number(2)? })
    };
    numbers_in("/proc").filter_map(place).collect()
}

/// The threads of a process.
pub(super) fn threads(pid: i32) -> impl Iterator<Item = (u64, ThreadSchedule)> {
    numbers_in(&format!("/proc/{pid}/task")).filter_map(move |task| Some((task, scheduled(pid, task)?)))
}

/// What one thread has used, and how often it had nothing to do.
pub(super) fn waits(pid: i32, task: u64) -> Option<ThreadSchedule> {
    scheduled(pid, task).map(|times| ThreadSchedule { blocked: blocked(pid, task), ..times })
}

/// `/proc/PID/task/TID/schedstat`: nanoseconds on a core, nanoseconds of waiting for one, slices (kernel: Documentation/scheduler/sched-stats.rst). A kernel
/// without it counts the CPU time in ticks (proc_pid_stat(5)).
fn scheduled(pid: i32, task: u64) -> Option<ThreadSchedule> {
    let folder = format!("/proc/{pid}/task/{task}");
    let text = std::fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    if let [run_ns, wait_ns, slices] = *numbers.as_slice() {
        return Some(ThreadSchedule { run_ns, wait_ns, slices, blocked: 0 });
    }
    let fields = fields(&format!("{folder}/stat"))?;
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(ThreadSchedule { run_ns: ticks * tick_ns, ..ThreadSchedule::default() })
}

/// How often a thread gave up its core because it had nothing to do.
fn blocked(pid: i32, task: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{task}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

fn numbers_in<N: std::str::FromStr>(folder: &str) -> impl Iterator<Item = N> + use<N> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fields of `stat` after the name, which may contain anything.
fn fields(path: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text[text.rfind(')')? + 1..].split_whitespace().map(str::to_owned).collect())
}
