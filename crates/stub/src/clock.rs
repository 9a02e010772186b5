//! The only clock reader in this crate.

/// CLOCK_MONOTONIC in nanoseconds. The generator's clock uses the same time line, so both sides of a test can be compared.
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
