//! Exit codes (docs/cli.md), and how errors are shown.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use loadstone_fleet::{BusError, GatherError};
use loadstone_outputs::OutputError;
use loadstone_script::ScriptError;
use loadstone_secrets::Secrets;
use loadstone_session::{SessionError, Unreachable};
use loadstone_units::text::{printable_in_colour, without_os_numbers};
use loadstone_watch::WatchError;

use crate::fleet::kubernetes::KubectlError;

/// How a command ends: the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success. For a run: measured, valid or suspect, and every threshold passed.
    Passed = 0,
    /// An internal failure that the user did not cause: disk full, a bug.
    Broken = 1,
    /// The script, a parameter, a flag or a file is wrong, so no load ran. Or the script threw when it was evaluated again.
    Usage = 2,
    /// At least one threshold failed, also an implied one: every request failed, or less than half of the arrivals started.
    /// For `try`: a request or an iteration failed. For `fleet status`: agents are not ready.
    ThresholdsFailed = 3,
    /// The measurement is invalid and allows no conclusion about the target.
    Invalid = 4,
    /// The target could not be reached: no request got a response. For `fleet`: the cluster could not be reached.
    Unreachable = 5,
    /// Worse than `--fail-if` allows.
    Worse = 6,
    /// A set-up failed, so no load ran.
    SetUpFailed = 7,
    /// `import` wrote a test that lacks parts of its source.
    Incomplete = 8,
    /// Interrupted by the user (Ctrl-C).
    Interrupted = 130,
    /// Codes of k6, for `--k6-exit-codes`: thresholds failed.
    K6ThresholdsFailed = 99,
    /// `setup` took longer than `setupTimeout`.
    K6SetUpTimedOut = 100,
    /// `teardown` took longer than `teardownTimeout`.
    K6TearDownTimedOut = 101,
    /// An option is wrong.
    K6InvalidConfig = 104,
    /// Interrupted by the user.
    K6ExternalAbort = 105,
    /// The script, its set-up or its tear-down threw.
    K6ScriptException = 107,
    /// `exec.test.abort()`.
    K6ScriptAborted = 108,
    /// `exec.test.fail()`.
    K6MarkedAsFailed = 110,
}

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessExit {
    Own(Exit),
    /// With the code of the command that `watch` started.
    OfCommand(u8),
}

impl From<ProcessExit> for ExitCode {
    fn from(exit: ProcessExit) -> ExitCode {
        match exit {
            ProcessExit::Own(exit) => exit.into(),
            ProcessExit::OfCommand(code) => ExitCode::from(code),
        }
    }
}

impl From<Exit> for ProcessExit {
    fn from(exit: Exit) -> Self {
        ProcessExit::Own(exit)
    }
}

impl Exit {
    /// The description in `--help` and the documentation.
    pub(crate) const TABLE: &str = "\
Exit codes:
  0    passed
  1    something broke (disk full, a bug)
  2    script, parameter or usage error
  3    a threshold failed, a script threw or every request failed (run), a step failed (try), even the lowest load fails (capacity), or \
not all is ready (fleet)
  4    the measurement is invalid, no request ended, or a threshold, --fail-if or the capacity is undecided
  5    the target, or the cluster (fleet), could not be reached
  6    worse than --fail-if allows (compare, run --against)
  7    a set-up failed, so the load did not run
  8    the imported test lacks parts of its source (import)
  130  interrupted
  `watch` ends with the code of its command, if that is not 0 (128 + N: killed by signal N)";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error that the user can correct; it ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A flag has a wrong value; it ends with [`Exit::Usage`]. A form shows the reason at the field of this name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{flag}: {why}")]
pub(crate) struct FlagError {
    /// Without the dashes.
    pub(crate) flag: &'static str,
    pub(crate) why: String,
}

impl FlagError {
    pub(crate) fn new(flag: &'static str, why: impl ToString) -> Self {
        Self { flag, why: why.to_string() }
    }
}

/// A set-up failed. It ends with [`Exit::SetUpFailed`].
#[derive(Debug, thiserror::Error)]
#[error("the set-up \"{0}\" failed")]
pub(crate) struct SetUpError(pub(crate) String);

/// An error that contained a secret, reworded without it.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct HiddenError {
    text: String,
    exit: Exit,
}

impl Exit {
    /// How a command with this error ends.
    pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
        let of_cause = |cause: &(dyn Error + 'static)| {
            if let Some(hidden) = cause.downcast_ref::<HiddenError>() {
                return Some(hidden.exit);
            }
            if cause.is::<SetUpError>() {
                return Some(Exit::SetUpFailed);
            }
            if let Some(kubectl) = cause.downcast_ref::<KubectlError>() {
                return Some(if matches!(kubectl, KubectlError::Unreachable { .. }) { Exit::Unreachable } else { Exit::Usage });
            }
            let by_user = cause.is::<UsageError>()
                || cause.is::<FlagError>()
                || cause.is::<ScriptError>()
                || cause.is::<OutputError>()
                || cause.is::<GatherError>()
                || cause.is::<BusError>()
                || cause.is::<WatchError>()
                || matches!(cause.downcast_ref(), Some(SessionError::Room(_) | SessionError::Rate(_) | SessionError::Users(_)));
            by_user.then_some(Exit::Usage)
        };
        error.chain().find_map(of_cause).unwrap_or(Exit::Broken)
    }
}

/// The error with secrets masked. An error without secrets is returned unchanged, with its causes.
pub(crate) fn hiding(secrets: &Secrets, error: anyhow::Error) -> anyhow::Error {
    let message = sentence(&error);
    match error.downcast::<ScriptError>() {
        Ok(script) => script.hiding(secrets).into(),
        Err(error) => {
            let shown = secrets.hide(&message);
            if *shown == message { error } else { HiddenError { exit: Exit::of_error(&error), text: shown.into_owned() }.into() }
        }
    }
}

/// Reports that the target is unreachable. Returns how the command ends.
pub(crate) fn unreachable(problem: &Unreachable, secrets: &Secrets) -> anyhow::Result<Exit> {
    writeln!(std::io::stderr(), "error: {}", secrets.hide(&without_os_numbers(&problem.to_string())))?;
    Ok(Exit::Unreachable)
}

/// Prints the error for the user. A broken pipe (`| head`) is not an error and prints nothing.
pub(crate) fn print(error: &anyhow::Error) {
    let pipe =
        error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).any(|io| io.kind() == std::io::ErrorKind::BrokenPipe);
    let text = match error.downcast_ref::<ScriptError>() {
        _ if pipe => return,
        Some(script) => script.render(),
        None => format!("error: {}", sentence(error)),
    };
    // If standard error is closed as well, there is nowhere left to report.
    let _ = writeln!(std::io::stderr(), "{}", printable_in_colour(&without_os_numbers(&text)));
}

/// Commands add the path of every file that they write. What has no context was written to standard output.
fn is_of_stdout(error: &anyhow::Error) -> bool {
    error.chain().len() == 1 && error.chain().all(|cause| cause.is::<std::io::Error>())
}

/// The error and its causes on one line. A cause is omitted if the error above it already contains it.
fn sentence(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    if is_of_stdout(error) {
        parts.push("cannot write to standard output".to_owned());
    }
    for cause in error.chain().map(|cause| without_os_numbers(&cause.to_string()).into_owned()) {
        if !parts.last().is_some_and(|above| above.contains(&cause)) {
            parts.push(cause);
        }
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_shown_once() {
        let io = || std::io::Error::other("the disk is away");
        let error = anyhow::Error::from(io()).context("cannot create runs: the disk is away").context("no run");
        assert_eq!(sentence(&error), "no run: cannot create runs: the disk is away");
        assert_eq!(sentence(&anyhow::Error::from(io()).context("cannot create runs")), "cannot create runs: the disk is away");
        assert_eq!(sentence(&anyhow::Error::from(io())), "cannot write to standard output: the disk is away");
    }

    #[test]
    fn an_error_of_the_system_is_shown_in_words() {
        let denied = || std::io::Error::from_raw_os_error(13);
        let error = anyhow::Error::from(denied()).context("cannot create runs");
        assert_eq!(sentence(&error), "cannot create runs: permission denied");
        let error = anyhow::Error::from(denied()).context(format!("cannot create runs: {}. Check who owns the folder", denied()));
        assert_eq!(sentence(&error), "cannot create runs: permission denied. Check who owns the folder");
    }
}
