//! When to collect garbage.
//!
//! QuickJS counts references. Only cycles need its collector, which scans the whole heap and stops every user of the realm. So a collection
//! follows work that may have created cycles, not allocation. The longer the last collection took, the more work must precede the next.

use std::cell::Cell;

use loadstone_metrics::Nanos;

/// Minimum number of calls into a realm between two collections.
const CALLS_MIN: u64 = 20_000;
/// Calls for each millisecond of the last collection: at about 5 µs a call, collections then take a fiftieth of the time.
const CALLS_PER_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Heap {
    calls: Cell<u64>,
    next: Cell<u64>,
}

impl Heap {
    /// A call into the realm has been made.
    pub(super) fn worked(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    pub(super) fn is_due(&self) -> bool {
        self.calls.get() >= self.next.get().max(CALLS_MIN)
    }

    pub(super) fn collected(&self, elapsed_ns: Nanos) {
        self.calls.set(0);
        self.next.set(elapsed_ns * CALLS_PER_MS / 1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_collections_are_less_frequent() {
        let heap = Heap::default();
        let calls_until_due = || {
            let before = heap.calls.get();
            while !heap.is_due() {
                heap.worked();
            }
            heap.calls.get() - before
        };
        assert_eq!(calls_until_due(), CALLS_MIN);
        heap.collected(100_000);
        assert_eq!(calls_until_due(), CALLS_MIN);
        heap.collected(8_000_000);
        assert_eq!(calls_until_due(), 8 * CALLS_PER_MS);
    }
}
