//! Clocks. All times are nanoseconds.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;
mod timespec;

#[cfg(target_os = "macos")]
pub(crate) use macos::timebase;

use timespec::ns;

/// The clock of all measurements: never set, and the same for all processes of the machine until it is restarted.
#[inline]
pub fn monotonic_ns() -> u64 {
    system::monotonic_ns()
}

/// How far the hardware's clock, which NTP does not correct, is ahead of [`monotonic_ns`]. `None` if they are the same clock.
pub fn raw_ahead_ns() -> Option<i64> {
    system::raw_ahead_ns()
}

/// The time since 1970 (CLOCK_REALTIME). It may be set.
#[inline]
pub fn wall_ns() -> u64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

/// CPU time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_run_backwards_and_is_not_the_wall_clock() {
        let readings: Vec<u64> = (0..1_000).map(|_| monotonic_ns()).collect();
        assert!(readings.is_sorted());
        // A machine that has run since 1970 would fail here.
        assert!(wall_ns() > monotonic_ns());
        assert!(thread_cpu_ns() > 0);
    }
}
