//! A kqueue with one timer, which the event loop's own kqueue watches as any other descriptor (kevent(2)).
//!
//! The kernel delays timers to save power. NOTE_CRITICAL puts a timer into the class of real-time threads, whose allowed delay is 0 ns: `filt_timerarm`
//! (xnu, bsd/kern/kern_event.c), `timer_compute_leeway` (osfmk/kern/timer_call.c), `timer_coalesce_rt_ns_max` (osfmk/arm/arm_timer.c, xnu 11417).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{null, null_mut};

/// The timer's number in its queue.
const IDENT: usize = 1;
static NO_WAIT: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
const NO_EVENT: libc::kevent = libc::kevent { ident: 0, filter: 0, flags: 0, fflags: 0, data: 0, udata: null_mut() };

// Of `<mach/mach_time.h>`.
unsafe extern "C" {
    fn mach_absolute_time() -> u64;
    fn mach_wait_until(deadline: u64) -> libc::c_int;
}

#[derive(Debug)]
pub(super) struct KernelTimer(OwnedFd);

impl KernelTimer {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the call takes no argument.
        let number = unsafe { libc::kqueue() };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
        let queue = unsafe { OwnedFd::from_raw_fd(number) };
        rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
        Ok(Self(queue))
    }

    /// Adding a timer that exists sets it again. The same call takes an event of the earlier deadline out of the queue, because an event that remains there
    /// would hide the next one from the event loop.
    pub(super) fn set_after(&self, wait_ns: u64) {
        let mut event = NO_EVENT;
        let count = self.call(Some(&once_after(wait_ns)), Some(&mut event));
        let is_error = event.flags & libc::EV_ERROR != 0;
        debug_assert!(count >= 0 && !is_error, "the timer cannot be set");
        if count == 1 && !is_error {
            // The new deadline has passed already, and its event was taken out just now.
            self.call(Some(&once_after(0)), None);
        }
    }

    pub(super) fn acknowledge(&self) {
        let mut event = NO_EVENT;
        self.call(None, Some(&mut event));
    }

    /// Applies a change, and takes out an event if there is one. Does not wait. Returns how many events it took out.
    fn call(&self, change: Option<&libc::kevent>, event: Option<&mut libc::kevent>) -> libc::c_int {
        let (changes, room) = (libc::c_int::from(change.is_some()), libc::c_int::from(event.is_some()));
        let change = change.map_or(null(), std::ptr::from_ref);
        let event = event.map_or(null_mut(), std::ptr::from_mut);
        // SAFETY: both pointers are null or valid until the call returns, and the counts say which.
        unsafe { libc::kevent(self.0.as_raw_fd(), change, changes, event, room, &raw const NO_WAIT) }
    }
}

fn once_after(wait_ns: u64) -> libc::kevent {
    libc::kevent {
        ident: IDENT,
        filter: libc::EVFILT_TIMER,
        flags: libc::EV_ADD | libc::EV_ONESHOT,
        fflags: libc::NOTE_NSECONDS | libc::NOTE_CRITICAL,
        data: isize::try_from(wait_ns).unwrap_or(isize::MAX),
        udata: null_mut(),
    }
}

impl AsRawFd for KernelTimer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// mach_wait_until, which Apple recommends for exact waits (Technical Note TN2169, "High Precision Timers in iOS / OS X").
pub(super) fn sleep_ns(wait_ns: u64) {
    let (numerator, denominator) = crate::clock::timebase();
    let ticks = u128::from(wait_ns) * u128::from(denominator) / u128::from(numerator);
    // SAFETY: both take and return numbers.
    unsafe { mach_wait_until(mach_absolute_time() + u64::try_from(ticks).unwrap_or(0)) };
}
