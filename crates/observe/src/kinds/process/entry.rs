//! What the kernel shows of a process and of a thread.

/// What the kernel shows of a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProcessEntry {
    /// Cut at 15 characters.
    pub(super) name: String,
    pub(super) parent: u32,
    /// `None`: the kernel shows it to another user only.
    pub(crate) usage: Option<ProcessUsage>,
}

/// What a process has used since it started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessUsage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) threads: f64,
    /// When it started, in a unit of the kernel: distinguishes processes that have the same number one after the other.
    pub(crate) started: u64,
}

/// What a thread has used, and how long it waited for a core, since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadCpuTimes {
    pub(crate) id: u64,
    pub(crate) used_ns: u64,
    /// Always 0 where the kernel does not count it for threads.
    pub(crate) waited_ns: u64,
}
