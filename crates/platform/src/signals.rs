//! Dispositions of signals that this process inherited.

use std::mem::MaybeUninit;
use std::ptr::null;

/// Whether this process ignores SIGHUP, as `nohup` makes it do. A handler would change that.
pub fn ignores_hangup() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, the call only writes the present one to the value.
    let result = unsafe { libc::sigaction(libc::SIGHUP, null(), action.as_mut_ptr()) };
    // SAFETY: the type consists of numbers, for which zeros are valid.
    let action = unsafe { action.assume_init() };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_nohup_started_ignores_the_hangup() {
        // The test runner is not started by nohup, or if it is, then so is this process.
        let ignored = |prefix: &[&str]| {
            let this = std::env::current_exe().unwrap();
            let mut command = std::process::Command::new("env");
            command.args(prefix).arg(this).args(["--exact", "signals::tests::asked_by_the_other_test", "--nocapture"]);
            let output = command.env("LOADSTONE_ASKED", "1").stdin(std::process::Stdio::null()).output().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("ignores: true")
        };
        assert!(ignored(&["nohup"]));
        assert_eq!(ignored(&[]), super::ignores_hangup());
    }

    #[test]
    fn asked_by_the_other_test() {
        if std::env::var_os("LOADSTONE_ASKED").is_some() {
            println!("ignores: {}", super::ignores_hangup());
        }
    }
}
