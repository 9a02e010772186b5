//! Why the threads of a process cannot be sampled.

use std::io;

use crate::kinds::process::which::NoProcess;

#[derive(Debug, thiserror::Error)]
pub(super) enum NativeError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[error(
        "perf events are for root alone here (kernel.perf_event_paranoid is {0}): run Loadstone as root, or sysctl kernel.perf_event_paranoid=2"
    )]
    Paranoid(i64),
    #[error(
        "process {pid} may not be sampled (perf_event_open: {problem}): run Loadstone as root; a container must allow that call (CAP_PERFMON)"
    )]
    Refused { pid: u32, problem: io::Error },
    #[error("the kernel has no perf events: {0}")]
    Unknown(io::Error),
    #[error("there is no room for samples ({0}): more memory must be lockable (ulimit -l), or more files open (ulimit -n)")]
    NoRoom(io::Error),
    #[error("process {0} has no threads any more")]
    Ended(u32),
}
