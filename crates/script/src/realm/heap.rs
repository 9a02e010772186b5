//! When to collect garbage.
//!
//! QuickJS counts references; only cycles wait for its collector, which walks the whole heap and stops every user of the
//! realm. So a collection comes after work that may have made cycles, never by allocation alone, and the more time the
//! last one took, the more work must come before the next.

use std::cell::Cell;

use loadstone_metrics::Nanos;

/// Calls into a realm between two collections, at least.
const CALLS_MIN: u64 = 20_000;
/// Calls for each millisecond that the last collection took: at some 5 µs a call, collections then take a fiftieth of the time.
const CALLS_PER_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Heap {
    calls: Cell<u64>,
    next: Cell<u64>,
}

impl Heap {
    /// A call into the realm was made.
    pub(super) fn worked(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    pub(super) fn is_due(&self) -> bool {
        self.calls.get() >= self.next.get().max(CALLS_MIN)
    }

    pub(super) fn collected(&self, took_ns: Nanos) {
        self.calls.set(0);
        self.next.set(took_ns * CALLS_PER_MS / 1_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_collections_come_less_often() {
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
