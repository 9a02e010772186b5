//! What a worker's thread asks of the scheduler: to run soon after it is woken.

use std::num::NonZeroU64;

/// The turn on a core that is asked for: longer than nearly all a worker does at once, much shorter than others' 3 ms. Nanoseconds.
const TIME_SLICE_NS: u64 = 500_000;

/// Asks for wake-ups that are on time, and to come before threads with longer turns where a core is shared.
///
/// A worker does a little and sleeps again. Since Linux 6.12 a thread may ask for shorter turns, which come sooner (EEVDF;
/// sched_setattr(2)): it does not wait until another's turn of some 3 ms is over, and gets no larger share of the core for it. Where
/// the kernel does not know this, or another policy was chosen from outside, nothing changes.
pub(crate) fn request_prompt_wakeups() {
    // Wake-ups of this thread may not be put off to save power (default slack: 50 µs).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if let Some(mut attributes) = attributes().filter(|attributes| attributes.sched_policy == libc::SCHED_OTHER as u32) {
        attributes.sched_runtime = TIME_SLICE_NS;
        // SAFETY: the attributes are as the kernel gave them, with their size; 0 is the calling thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}

/// Scheduling of the calling thread.
fn attributes() -> Option<libc::sched_attr> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the place is valid for writes of the size given.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size_of::<libc::sched_attr>(), 0) };
    (status == 0).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_changes_neither_policy_nor_priority() {
        let before = attributes().unwrap();
        request_prompt_wakeups();
        let after = attributes().unwrap();
        assert_eq!((after.sched_policy, after.sched_nice), (before.sched_policy, before.sched_nice));
        // Kernels before 6.12 report no slice.
        assert!([TIME_SLICE_NS, before.sched_runtime].contains(&after.sched_runtime));
    }
}
