//! The limit on open descriptors of this process (RLIMIT_NOFILE).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Whether a thread can leave its process's descriptor table for a copy, so that each thread has the limit for itself.
pub const CAN_SPLIT: bool = cfg!(target_os = "linux");

/// The present limit.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The limit that this process can raise it to.
pub fn limit_max() -> u64 {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    hard.min(kernel_max())
}

/// Raises the limit to its maximum. Returns the new limit.
pub fn raise_limit() -> u64 {
    if limit() < limit_max() {
        let hard = getrlimit(Resource::Nofile).maximum;
        // Raising fails only if even the maximum cannot be reached. The current limit applies then.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(limit_max()).filter(|limit| *limit < u64::MAX), maximum: hard });
    }
    limit()
}

/// The hard limit is below it (`fs.nr_open`, proc_sys_fs(5)).
#[cfg(target_os = "linux")]
fn kernel_max() -> u64 {
    u64::MAX
}

/// The hard limit is often infinite, and a larger limit than this is refused (setrlimit(2)).
#[cfg(target_os = "macos")]
fn kernel_max() -> u64 {
    crate::sysctl::number("kern.maxfilesperproc").unwrap_or(10_240)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_its_maximum_and_never_lowered() {
        let before = limit();
        assert_eq!(raise_limit(), limit_max());
        assert!(limit() >= before);
        assert_eq!(raise_limit(), limit());
    }
}
