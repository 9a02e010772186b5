//! Commands to a HotSpot JVM by the protocol of `jcmd`, without starting another JVM for each command.
//!
//! A JVM opens its socket when it finds a file `.attach_pidN` at its first SIGQUIT (AttachListener in HotSpot's attachListener_linux.cpp,
//! VirtualMachineImpl in the JDK's jdk.attach). It stays open until the process ends, as after any `jcmd`.

use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::error::JvmError;
use crate::kinds::process::system::catches;
use crate::kinds::process::which::NoProcess;
use crate::procfs::read;

/// The interval and the number of checks for the socket.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 150;
/// Longer responses are truncated. Bytes.
const RESPONSE_MAX: u64 = 64 << 20;
/// Of the protocol.
const VERSION: &str = "1";
const ARGUMENTS: usize = 3;

/// A JVM that accepts commands.
#[derive(Debug, Clone)]
pub(super) struct Jvm {
    pub(super) pid: u32,
    /// The process id in its own namespace, by which its files are named.
    pub(super) number_inside: u32,
    socket: PathBuf,
}

/// Whether a process is a HotSpot JVM.
pub(super) fn is_jvm(pid: u32) -> bool {
    read(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("libjvm.so"))
}

impl Jvm {
    /// # Errors
    /// When it does not open its socket.
    pub(super) async fn attach(pid: u32) -> Result<Self, JvmError> {
        let folder = PathBuf::from(format!("/proc/{pid}/root/tmp"));
        let inner = number_inside(pid);
        let jvm = Self { pid, number_inside: inner, socket: folder.join(format!(".java_pid{inner}")) };
        if jvm.socket.exists() {
            return Ok(jvm);
        }
        // With -Xrs or without the attach mechanism, a JVM does not handle SIGQUIT and would terminate.
        if !catches(pid, Signal::QUIT) {
            return Err(JvmError::Deaf(pid));
        }
        let asking = folder.join(format!(".attach_pid{inner}"));
        let created = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&asking);
        created.map_err(|_| NoProcess::Rights(pid))?;
        let woken = jvm.wake().await;
        // The file is only a trigger for the JVM, which may leave it in place.
        let _ = std::fs::remove_file(&asking);
        woken.map(|()| jvm)
    }

    async fn wake(&self) -> Result<(), JvmError> {
        let target = i32::try_from(self.pid).ok().and_then(Pid::from_raw).ok_or(NoProcess::Rights(self.pid))?;
        kill_process(target, Signal::QUIT).map_err(|_| NoProcess::Rights(self.pid))?;
        for _ in 0..LOOKS_MAX {
            if self.socket.exists() {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(JvmError::Silent(self.pid))
    }

    /// The output of a `jcmd` command.
    ///
    /// # Errors
    /// When the JVM does not respond, or refuses.
    pub(super) async fn command(&self, command: &str) -> Result<String, JvmError> {
        let mut stream = UnixStream::connect(&self.socket).await.map_err(JvmError::Connect)?;
        let arguments = std::iter::once(command).chain(std::iter::repeat("")).take(ARGUMENTS);
        let words: Vec<&str> = [VERSION, "jcmd"].into_iter().chain(arguments).collect();
        let request: String = words.iter().flat_map(|word| [*word, "\0"]).collect();
        stream.write_all(request.as_bytes()).await.map_err(JvmError::Connect)?;
        let mut response = Vec::new();
        stream.take(RESPONSE_MAX).read_to_end(&mut response).await.map_err(JvmError::Connect)?;
        let response = String::from_utf8_lossy(&response);
        match response.split_once('\n') {
            Some(("0", text)) => Ok(text.to_owned()),
            _ => Err(JvmError::Refused { command: command.to_owned(), response: response.chars().take(200).collect() }),
        }
    }
}

/// The number of a process in its own namespace (proc_pid_status(5)).
fn number_inside(pid: u32) -> u32 {
    let status = read(format!("/proc/{pid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok()).unwrap_or(pid)
}
