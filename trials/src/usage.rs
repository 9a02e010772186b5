//! What a child process took of the machine, from its start to its end.

use std::mem::MaybeUninit;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Its own usage, and that of the children it waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceUsage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) memory_peak_bytes: f64,
    /// One of those that were expected.
    pub(crate) exit_code: i32,
}

impl ResourceUsage {
    /// Processor time, the kernel's share included.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

/// Runs a command to its end; an error unless it ends with one of these exit codes.
pub(crate) fn run(command: &mut Command, codes: &[i32]) -> Result<ResourceUsage> {
    let child = command.stdin(Stdio::null()).spawn();
    let child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let pid = libc::pid_t::try_from(child.id()).context("a process id")?;
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are valid for writes for the time of the call, and a zeroed `rusage` is a valid one.
    let (reaped, usage) = unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if reaped != pid {
        bail!("waiting for {command:?}: {}", std::io::Error::last_os_error());
    }
    if !libc::WIFEXITED(status) || !codes.contains(&libc::WEXITSTATUS(status)) {
        bail!("{command:?} ended with status {status:#x}");
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(ResourceUsage {
        user_seconds: seconds(usage.ru_utime),
        system_seconds: seconds(usage.ru_stime),
        // Linux counts in kilobytes (getrusage(2)).
        memory_peak_bytes: usage.ru_maxrss as f64 * 1024.0,
        exit_code: libc::WEXITSTATUS(status),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_the_childs_own() {
        let idle = run(Command::new("sleep").arg("0.05"), &[0]).unwrap();
        let busy = run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"]), &[0]).unwrap();
        assert!(busy.cpu_seconds() > 4.0 * idle.cpu_seconds());
        assert!(idle.memory_peak_bytes > 100_000.0);
    }

    #[test]
    fn only_expected_exit_codes_are_a_measurement() {
        assert!(run(&mut Command::new("false"), &[0, 4]).is_err());
        assert_eq!(run(Command::new("sh").args(["-c", "exit 4"]), &[0, 4]).unwrap().exit_code, 4);
    }
}
