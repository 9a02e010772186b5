//! How many iterations of a count that VUs share have begun.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The iterations of a scenario that its VUs share.
#[derive(Debug, Default)]
pub(crate) struct BegunIterations {
    begun: AtomicU64,
    is_counted: AtomicBool,
}

impl BegunIterations {
    /// The iteration with this number begins. Numbers have no gaps.
    pub(crate) fn begin(&self, number: u64) {
        self.begun.fetch_max(number + 1, Ordering::Relaxed);
    }

    /// Those that never begin. Only the first VU that asks counts them.
    pub(crate) fn never_begun(&self, count: u64) -> u64 {
        if self.is_counted.swap(true, Ordering::Relaxed) { 0 } else { count.saturating_sub(self.begun.load(Ordering::Relaxed)) }
    }
}
