//! Times of the kernel as numbers.

/// Nanoseconds.
#[inline]
pub(super) fn ns(time: rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
