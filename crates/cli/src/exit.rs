//! Exit codes: few, and documented (docs/cli.md). CI decides by them.

use std::process::ExitCode;

use script::ScriptError;
use secrets::Secrets;

/// How a command ends, for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; for a run: measured, valid or suspect, and every threshold held.
    Passed = 0,
    /// Something broke that is not the user's doing: disk full, a bug.
    Broken = 1,
    /// The script, a parameter, a flag or a file is wrong. Nothing was loaded.
    Usage = 2,
    /// At least one threshold failed; for `try`, a request or an iteration.
    ThresholdsFailed = 3,
    /// The measurement is invalid, so that nothing can be said about the target.
    Invalid = 4,
    /// The target could not be reached at all: no request got an answer.
    Unreachable = 5,
    /// Interrupted by the user (Ctrl-C).
    Interrupted = 130,
}

impl Exit {
    /// What `--help` and the documentation say.
    pub(crate) const TABLE: &str = "\
Exit codes:
  0    passed
  1    something broke (disk full, a bug)
  2    script, parameter or usage error; nothing was loaded
  3    a threshold failed (run), or a step failed (try)
  4    the measurement is invalid
  5    the target could not be reached
  130  interrupted";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// An error that the user can mend; it ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// An error as it may be shown. What holds no secret stays as it is, causes included.
pub(crate) fn hiding(secrets: &Secrets, error: anyhow::Error) -> anyhow::Error {
    let said = format!("{error:#}");
    match error.downcast::<ScriptError>() {
        Ok(script) => script.hiding(secrets).into(),
        Err(error) => {
            let shown = secrets.hide(&said);
            if *shown == said {
                error
            } else if error.chain().any(|cause| cause.is::<UsageError>()) {
                UsageError(shown.into_owned()).into()
            } else {
                anyhow::Error::msg(shown.into_owned())
            }
        }
    }
}
