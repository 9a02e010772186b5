//! A timer that wakes an event loop through a descriptor, more exactly than a runtime's timers, which round up to a millisecond.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

/// A timer that fires once. Register its descriptor for reads, edge-triggered: it becomes readable when the timer fires.
#[derive(Debug)]
pub struct WakeTimer(system::KernelTimer);

impl WakeTimer {
    /// # Errors
    /// The system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        system::KernelTimer::new().map(Self)
    }

    /// Fires after this time instead of any earlier deadline. Nanoseconds; 0 means 1.
    pub fn set_after(&self, wait_ns: u64) {
        self.0.set_after(wait_ns.max(1));
    }

    /// Call this after it has fired, so that it can fire again.
    #[inline]
    pub fn acknowledge(&self) {
        self.0.acknowledge();
    }
}

impl AsRawFd for WakeTimer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Sleeps for a part of a millisecond, although sockets become readable. A signal may end the sleep early.
pub fn sleep_ns(wait_ns: u64) {
    system::sleep_ns(wait_ns);
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::time::Timespec;

    use super::*;
    use crate::clock::monotonic_ns;

    const MS: u64 = 1_000_000;

    fn fires_within(timer: &WakeTimer, wait_ns: u64) -> bool {
        // SAFETY: the timer owns the descriptor and outlives this value.
        let descriptor = unsafe { BorrowedFd::borrow_raw(timer.as_raw_fd()) };
        let limit = Timespec { tv_sec: (wait_ns / 1_000_000_000) as i64, tv_nsec: (wait_ns % 1_000_000_000) as i64 };
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&limit)).unwrap() == 1
    }

    #[test]
    fn a_timer_fires_once_for_each_time_it_is_set_and_never_early() {
        let timer = WakeTimer::new().unwrap();
        assert!(!fires_within(&timer, MS), "it was not set");
        for _ in 0..3 {
            let begun = monotonic_ns();
            timer.set_after(2 * MS);
            assert!(fires_within(&timer, 10_000 * MS));
            assert!(monotonic_ns() - begun >= 2 * MS);
            timer.acknowledge();
        }
    }

    #[test]
    fn a_new_deadline_replaces_the_old_one() {
        let timer = WakeTimer::new().unwrap();
        timer.set_after(3_600_000 * MS);
        timer.set_after(MS);
        assert!(fires_within(&timer, 10_000 * MS));
        // Set again before it was acknowledged.
        timer.set_after(3_600_000 * MS);
        assert!(!fires_within(&timer, MS));
    }
}
