//! What the kernel shows of the threads and processes of a tool.

/// What the kernel has counted for a thread since it began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThreadSchedule {
    pub(super) run_ns: u64,
    /// Ready to run, without a core.
    pub(super) wait_ns: u64,
    /// How often it got a core.
    pub(super) slices: u64,
    /// How often it had nothing left to do.
    pub(super) blocked: u64,
}

impl ThreadSchedule {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(before.run_ns),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            slices: self.slices.saturating_sub(before.slices),
            blocked: self.blocked.saturating_sub(before.blocked),
        }
    }

    /// Mean wait until it gets a core. Nanoseconds.
    pub(super) fn wait_of_each(self) -> f64 {
        self.wait_ns as f64 / self.slices.max(1) as f64
    }
}

/// Where a process is among the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessPlace {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
}
