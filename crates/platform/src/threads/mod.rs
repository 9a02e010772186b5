//! What a thread requests from the scheduler.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

/// Requests that the calling thread runs soon after it is woken, and that its timers are exact. Where the kernel does not support this, nothing changes.
pub fn request_prompt_wakeups() {
    system::request_prompt_wakeups();
}

/// Gives all other threads precedence over the calling one. Where the kernel does not support this, nothing changes.
pub fn yield_to_others() {
    system::yield_to_others();
}
