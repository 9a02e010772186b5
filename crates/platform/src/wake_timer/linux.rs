//! timerfd_create(2) on CLOCK_MONOTONIC.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::thread::{ClockId, clock_nanosleep_relative};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

const ZERO: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[derive(Debug)]
pub(super) struct KernelTimer(OwnedFd);

impl KernelTimer {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?))
    }

    pub(super) fn set_after(&self, wait_ns: u64) {
        let once = Itimerspec { it_interval: ZERO, it_value: timespec(wait_ns) };
        // Cannot fail: the descriptor is a timer and the time is valid.
        let set = rustix::time::timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once);
        debug_assert!(set.is_ok(), "{set:?}");
    }

    /// Setting it makes it unreadable, so there is nothing to read.
    #[inline]
    pub(super) fn acknowledge(&self) {}
}

impl AsRawFd for KernelTimer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

pub(super) fn sleep_ns(wait_ns: u64) {
    let _ = clock_nanosleep_relative(ClockId::Monotonic, &timespec(wait_ns));
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
