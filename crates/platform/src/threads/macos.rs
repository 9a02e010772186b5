//! Classes of service (`<pthread/qos.h>`, pthread_set_qos_class_self_np(3)). The kernel derives the cores, the priority and the exactness of timers from
//! them.

use libc::qos_class_t;

/// The highest class that needs no permission: the performance cores, and timers of the first latency tier.
pub(super) fn request_prompt_wakeups() {
    // SAFETY: the function takes numbers and changes only the calling thread.
    unsafe { libc::pthread_set_qos_class_self_np(qos_class_t::QOS_CLASS_USER_INTERACTIVE, 0) };
}

/// setpriority(2) would change the whole process here.
pub(super) fn yield_to_others() {
    // SAFETY: as above.
    unsafe { libc::pthread_set_qos_class_self_np(qos_class_t::QOS_CLASS_UTILITY, 0) };
}
