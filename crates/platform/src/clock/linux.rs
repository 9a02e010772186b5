//! CLOCK_MONOTONIC, which NTP corrects, and CLOCK_MONOTONIC_RAW, which it does not (clock_gettime(2)).

use rustix::time::{ClockId, clock_gettime};

use super::timespec::ns;

#[inline]
pub(super) fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

pub(super) fn raw_ahead_ns() -> Option<i64> {
    let reading = |_| {
        let before = monotonic_ns();
        let raw = ns(clock_gettime(ClockId::MonotonicRaw));
        let after = monotonic_ns();
        (after - before, raw as i64 - before.midpoint(after) as i64)
    };
    // The thread may lose its core between the two clock reads. Of a few readings, the one with the closest reads is used.
    (0..5).map(reading).min_by_key(|(apart, _)| *apart).map(|(_, ahead)| ahead)
}
