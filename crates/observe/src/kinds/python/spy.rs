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

/// The py-spy next to the service's Python interpreter or of its virtual environment, otherwise the one on the `PATH`.
fn spy_of(pid: u32) -> PathBuf {
    let list = |file: &str| read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let working_folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
    spy_in_environment(&list("cmdline"), &list("environ"), working_folder.as_deref()).unwrap_or_else(|| PathBuf::from("py-spy"))
}

/// `command` and `variables` are separated by null bytes. A command such as `bin/python` is relative to the working folder, unless the process changed that.
fn spy_in_environment(command: &str, variables: &str, working_folder: Option<&Path>) -> Option<PathBuf> {
    let program = Path::new(command.split('\0').next()?);
    let is_path = program.components().count() > 1;
    let next_to_program = program.parent().filter(|_| is_path).and_then(|folder| Some(working_folder?.join(folder)));
    let absolute = program.parent().filter(|folder| folder.is_absolute()).map(Path::to_path_buf);
    let environment =
        variables.split('\0').find_map(|variable| variable.strip_prefix("VIRTUAL_ENV=")).map(|folder| Path::new(folder).join("bin"));
    let folders = absolute.into_iter().chain(next_to_program).chain(environment);
    folders.map(|folder| folder.join("py-spy")).find(|path| path.is_absolute() && path.is_file())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn py_spy_is_found_next_to_a_relative_command_and_in_the_virtual_environment() {
        let folder = tempfile::tempdir().unwrap();
        let spy = folder.path().join("bin/py-spy");
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::write(&spy, "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let absolute = format!("{}/bin/python\0-m\0app", folder.path().display());
        let variable = format!("HOME=/root\0VIRTUAL_ENV={}\0", folder.path().display());
        assert_eq!(spy_in_environment(&absolute, "", None).as_ref(), Some(&spy));
        assert_eq!(spy_in_environment("bin/python\0-m\0app", "", Some(folder.path())).as_ref(), Some(&spy));
        // The process runs elsewhere, or it embeds Python.
        assert_eq!(spy_in_environment("bin/python\0", &variable, Some(elsewhere.path())).as_ref(), Some(&spy));
        assert_eq!(spy_in_environment("uwsgi\0", &variable, Some(elsewhere.path())).as_ref(), Some(&spy));
        // A name without a folder is on the path, so the working folder says nothing.
        assert_eq!(spy_in_environment("python\0", "", Some(&folder.path().join("bin"))), None);
        assert_eq!(spy_in_environment("bin/python\0", "", Some(elsewhere.path())), None);
    }
}
