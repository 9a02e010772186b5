//! Why the threads of a process cannot be sampled.

use std::io;

use crate::kinds::process::which::NoProcess;

#[derive(Debug, thiserror::Error)]
pub(super) enum NativeError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[error(
        "only root may use perf events here (kernel.perf_event_paranoid is {0}): run Loadstone as root, or sysctl kernel.perf_event_paranoid=2"
    )]
    Paranoid(i64),
    #[error(
        "process {pid} may not be sampled (perf_event_open: {problem}): run Loadstone as root; a container must allow that call (CAP_PERFMON)"
    )]
    Refused { pid: u32, problem: io::Error },
    #[error("the kernel has no perf events: {0}")]
    Unknown(io::Error),
    #[error("no resources for samples ({0}): raise the limit on locked memory (ulimit -l) or on open files (ulimit -n)")]
    NoRoom(io::Error),
    #[error("process {0} has ended")]
    Ended(u32),
}
