//! From libproc.

use loadstone_platform::processes;

use super::schedule::{ProcessPlace, ThreadSchedule};

pub(super) fn processes() -> Vec<ProcessPlace> {
    let place = |pid: u32| {
        let facts = processes::facts(pid)?;
        let number = |number: u32| i32::try_from(number).ok();
        Some(ProcessPlace { pid: number(pid)?, parent: number(facts.parent)?, group: number(facts.group)? })
    };
    processes::ids().into_iter().filter_map(place).collect()
}

/// The threads of a process, with their CPU time only.
pub(super) fn threads(pid: i32) -> impl Iterator<Item = (u64, ThreadSchedule)> {
    let threads = u32::try_from(pid).map(processes::threads).unwrap_or_default();
    threads.into_iter().map(|thread| (thread.id, ThreadSchedule { run_ns: thread.cpu_ns, ..ThreadSchedule::default() }))
}

/// The kernel counts no waits of threads.
pub(super) fn waits(_pid: i32, _task: u64) -> Option<ThreadSchedule> {
    None
}
