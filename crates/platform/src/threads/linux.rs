//! Short time slices and no timer slack (sched_setattr(2), prctl(2)), and nice values of single threads (setpriority(2)).

use std::num::NonZeroU64;

/// The requested time slice in nanoseconds: longer than nearly all of a worker's turns, much shorter than the 3 ms of other threads.
const TIME_SLICE_NS: u64 = 500_000;

/// Requests timely wake-ups, and precedence over threads with longer time slices where a core is shared.
///
/// A worker does a little work and sleeps again. Since Linux 6.12 a thread may request shorter time slices, which are scheduled sooner (EEVDF;
/// sched_setattr(2)). It then does not wait until another thread's slice of about 3 ms is over, and its share of the core does not grow. Where the
/// kernel does not support this, or another policy was chosen from outside, nothing changes.
pub(super) fn request_prompt_wakeups() {
    // The kernel may not delay wake-ups of this thread to save power (default slack: 50 µs).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if let Some(mut attributes) = attributes().filter(|attributes| attributes.sched_policy == libc::SCHED_OTHER as u32) {
        attributes.sched_runtime = TIME_SLICE_NS;
        // SAFETY: the attributes are as the kernel returned them, with their size. 0 is the calling thread.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}

/// The lowest priority. On Linux, this affects the calling thread only (setpriority(2)).
pub(super) fn yield_to_others() {
    let _ = rustix::process::setpriority_process(None, 19);
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
    // SAFETY: the pointer is valid for writes of the size passed.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size_of::<libc::sched_attr>(), 0) };
    (status == 0).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_changes_neither_policy_nor_priority() {
        let before = attributes().unwrap();
        request_prompt_wakeups();
        let after = attributes().unwrap();
        assert_eq!((after.sched_policy, after.sched_nice), (before.sched_policy, before.sched_nice));
        // Kernels before 6.12 report no slice.
        assert!([TIME_SLICE_NS, before.sched_runtime].contains(&after.sched_runtime));
    }
}
