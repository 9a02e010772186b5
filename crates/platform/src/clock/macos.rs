//! CLOCK_UPTIME_RAW: the hardware's clock, which stops while the machine sleeps, as CLOCK_MONOTONIC does on Linux (clock_gettime(3)).
//!
//! CLOCK_MONOTONIC of macOS has a resolution of a microsecond and follows corrections of the calendar. The standard library uses CLOCK_UPTIME_RAW, too.

use std::sync::OnceLock;

// Of `<time.h>` and `<mach/mach_time.h>`. The `libc` crate does not declare the first, and its declaration of the second is deprecated.
unsafe extern "C" {
    fn clock_gettime_nsec_np(clock: libc::clockid_t) -> u64;
    fn mach_timebase_info(info: *mut Timebase) -> libc::c_int;
}

#[repr(C)]
struct Timebase {
    numerator: u32,
    denominator: u32,
}

#[inline]
pub(super) fn monotonic_ns() -> u64 {
    // SAFETY: the function takes a number and touches no memory of this process.
    unsafe { clock_gettime_nsec_np(libc::CLOCK_UPTIME_RAW) }
}

/// The clock of all measurements is the hardware's clock.
pub(super) fn raw_ahead_ns() -> Option<i64> {
    None
}

/// A tick of the Mach clock is this fraction of a nanosecond: 1 on Intel, 125 / 3 on Apple silicon.
pub(crate) fn timebase() -> (u32, u32) {
    static TIMEBASE: OnceLock<(u32, u32)> = OnceLock::new();
    *TIMEBASE.get_or_init(|| {
        let mut timebase = Timebase { numerator: 1, denominator: 1 };
        // SAFETY: the call writes to a value that lives until it returns.
        unsafe { mach_timebase_info(&raw mut timebase) };
        (timebase.numerator.max(1), timebase.denominator.max(1))
    })
}
