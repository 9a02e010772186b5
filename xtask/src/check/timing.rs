//! How long a part took, and the CPU time of the programs it started.

use std::mem::MaybeUninit;
use std::time::SystemTime;

pub(super) struct Stopwatch {
    start: SystemTime,
    cpu_seconds_before: f64,
}

pub(super) struct Elapsed {
    pub(super) wall_seconds: f64,
    /// User and system time of child processes that have ended.
    pub(super) cpu_seconds: f64,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { start: SystemTime::now(), cpu_seconds_before: cpu_seconds_of_children() }
    }

    pub(super) fn elapsed(&self) -> Elapsed {
        Elapsed {
            wall_seconds: self.start.elapsed().unwrap_or_default().as_secs_f64(),
            cpu_seconds: cpu_seconds_of_children() - self.cpu_seconds_before,
        }
    }
}

fn cpu_seconds_of_children() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writes during the call, and a zeroed `rusage` is a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
