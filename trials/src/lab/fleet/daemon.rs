//! A program that runs as long as the cluster does.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// How long one may take to end before it is killed.
const END_TRIES: u32 = 100;
pub(super) const STEP: Duration = Duration::from_millis(100);

pub(super) struct Daemon {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts it, with what it says in `logs/NAME.log`.
    pub(super) fn start(name: &str, command: &mut Command, logs: &Path) -> Result<Self> {
        fs::create_dir_all(logs)?;
        let log = logs.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// # Errors
    /// It has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}; its last words, of {}:\n{}", self.name, self.log.display(), self.last_words()),
        }
    }

    fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(6)..].join("\n")
    }

    /// Waits until something is true, as long as it runs and no longer than so many seconds.
    pub(super) fn wait(&mut self, what: &str, seconds: u32, is_true: impl FnMut() -> bool) -> Result<()> {
        let mut is_true = is_true;
        for _ in 0..seconds * 10 {
            self.check()?;
            if is_true() {
                return Ok(());
            }
            thread::sleep(STEP);
        }
        bail!("{}: not {what} after {seconds} s; its last words, of {}:\n{}", self.name, self.log.display(), self.last_words())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let Ok(pid) = i32::try_from(self.child.id()) else { return };
        // SAFETY: a plain system call on a process that has not been waited for, so its number is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        for _ in 0..END_TRIES {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(STEP);
        }
        let _ = self.child.kill();
        let _ended = self.child.wait();
    }
}
