//! Runs py-spy with a time limit, because it may hang together with the process.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use super::dump::PythonThread;
use crate::kinds::process::which::NoProcess;
use crate::procfs::read;

const LIMIT: Duration = Duration::from_secs(4);
/// Attempts per sample.
const LOOKS: usize = 3;

#[derive(Debug, thiserror::Error)]
pub(super) enum PythonError {
    #[error(transparent)]
    Process(#[from] NoProcess),
    #[error("py-spy is not installed: pip install py-spy")]
    NoSpy,
    #[error("py-spy could not be started: {0}")]
    Start(std::io::Error),
    #[error("py-spy could not read the stacks of process {pid}: {problem}")]
    Refused { pid: u32, problem: String },
    #[error("py-spy did not end within {} s", LIMIT.as_secs())]
    Hung,
}

/// The py-spy next to the service's Python interpreter, as in a virtual environment, otherwise the one on the `PATH`.
fn spy_of(pid: u32) -> PathBuf {
    let command = read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let next_to_python = command.split('\0').next().and_then(|python| Path::new(python).parent()).map(|folder| folder.join("py-spy"));
    next_to_python.filter(|path| path.is_absolute() && path.is_file()).unwrap_or_else(|| PathBuf::from("py-spy"))
}

/// The threads of a process. The process is not stopped, so py-spy may follow outdated pointers and fail. Then it tries again.
///
/// # Errors
/// When py-spy is not installed, has no access, or finds no Python.
pub(super) async fn dump(pid: u32) -> Result<Vec<PythonThread>, PythonError> {
    let mut dumped = look(pid).await;
    for _ in 1..LOOKS {
        if !matches!(dumped, Err(PythonError::Refused { .. })) {
            break;
        }
        dumped = look(pid).await;
    }
    dumped
}

async fn look(pid: u32) -> Result<Vec<PythonThread>, PythonError> {
    let mut command = Command::new(spy_of(pid));
    // With a backtrace, the last line would not be the error message.
    command.env("RUST_BACKTRACE", "0");
    command.args(["dump", "--json", "--nonblocking", "--pid"]).arg(pid.to_string());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child =
        child.map_err(|problem| if problem.kind() == ErrorKind::NotFound { PythonError::NoSpy } else { PythonError::Start(problem) })?;
    let spy = Pid::from_child(&child);
    let (sender, ended) = oneshot::channel();
    // After the time limit, nothing waits for the result.
    std::thread::spawn(move || drop(sender.send(child.wait_with_output())));
    let Ok(output) = tokio::time::timeout(LIMIT, ended).await else {
        // The thread has not reaped the process yet, so the process id cannot have been reused.
        let _ = kill_process(spy, Signal::KILL);
        return Err(PythonError::Hung);
    };
    let output = output.map_err(|_| PythonError::Hung)?.map_err(PythonError::Start)?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let text = String::from_utf8_lossy(&output.stderr);
        PythonError::Refused { pid, problem: text.trim().lines().last().unwrap_or("no message").chars().take(200).collect() }
    })
}
