//! A user's folder with a test, and the binary run there.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use tempfile::TempDir;

use super::Ended;

/// No run of these tests takes longer on any machine. A hang fails instead of blocking the others.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a scenario with this body exactly once against a target. The body can use `user`.
pub(crate) fn once(target: &str, body: &str) -> Ended {
    once_with(target, "", body)
}

/// The same, with further members of the test (`options: {…},`).
pub(crate) fn once_with(target: &str, members: &str, body: &str) -> Ended {
    let script = format!(
        r#"import * as loadstone from "loadstone";
import {{ test, scenario, once }} from "loadstone";
const only = scenario("Only", async (user) => {{
{body}
}});
export default test({{ target: "{target}", load: only.run(once()), {members} }});
"#
    );
    let mut ended = Folder::new().file("once.load.ts", &script).run(&["run", "once.load.ts"]);
    ended.checks_written = body.matches("user.check(").count();
    ended
}

/// A temporary folder. Runs are stored in `runs/` and deleted with it.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("creating a folder");
        fs::write(path, content).expect("writing a file of the test");
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the binary to completion.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).ended()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_command(self.command(arguments))
    }

    /// The binary with its arguments, for tests that configure the process before it starts.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadstone"));
        command.args(arguments).current_dir(self.path());
        // A developer's own settings must not affect the tests.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("LOADSTONE_")) {
            command.env_remove(name);
        }
        command.env_remove("RUST_BACKTRACE").env_remove("CI").env_remove("GITHUB_STEP_SUMMARY").env("NO_COLOR", "1");
        command
    }

    /// The same, on a machine with this limit on open files.
    pub(crate) fn with_open_files(&self, limit: u64, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        // SAFETY: only a system call runs between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum: Some(limit) })?));
        }
        command
    }

    pub(crate) fn start_command(&self, mut command: Command) -> Running {
        // A separate process group: a signal to it reaches no other process.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let stdout = gather(child.stdout.take().expect("asked for as a pipe"));
        let stderr = gather(child.stderr.take().expect("asked for as a pipe"));
        Running { child, stdout, stderr, folder: self.path().to_path_buf() }
    }

    /// The folders of all runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        runs(self.path())
    }
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("runs")).map(|entries| entries.flatten().collect()).unwrap_or_else(|_| Vec::new());
    let mut folders: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("reading what the binary writes");
        String::from_utf8(bytes).expect("the binary writes UTF-8")
    })
}

/// A run in progress.
pub(crate) struct Running {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
    folder: PathBuf,
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the binary is still there to be signalled");
    }

    /// Waits for it to end. Kills it and fails the test if that takes too long.
    pub(crate) fn ended(mut self) -> Ended {
        let pid = Pid::from_child(&self.child);
        let (finished, alarm) = std::sync::mpsc::sync_channel::<()>(1);
        let guard = thread::spawn(move || {
            let late = alarm.recv_timeout(LIMIT).is_err();
            if late {
                let _gone = kill_process(pid, Signal::KILL);
            }
            late
        });
        let status = self.child.wait().expect("waiting for the binary");
        // The guard has received its answer, or is about to find that the process is gone.
        let _guard_may_be_gone = finished.send(());
        let (stdout, stderr) = (self.stdout.join().expect("reading"), self.stderr.join().expect("reading"));
        assert!(!guard.join().expect("the guard"), "the binary did not end within {LIMIT:?}\n{stdout}\n{stderr}");
        let run = runs(&self.folder).pop();
        let summary = run.as_ref().and_then(|run| fs::read_to_string(run.join("summary.json")).ok());
        Ended { status, stdout, stderr, run, summary, checks_written: 0 }
    }
}
