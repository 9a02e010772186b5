//! Runs each run as a process of this binary. A crash does not affect the page, and a run measures as it would alone.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use loadstone_plan::Parameter;
use rustix::io::{FdFlags, fcntl_setfd};

use super::work::OrderedWork;
use crate::exit::Exit;
use crate::watched::WorkProgress;

/// Maximum number of stored lines of a run's standard error, to show why it failed.
const LINES_MAX: usize = 40;
const LINE_BYTES_MAX: u64 = 4096;

/// Start settings common to all runs.
#[derive(Debug)]
pub(super) struct LaunchOptions {
    pub(super) binary: PathBuf,
    /// Folder of run directories.
    pub(super) runs: PathBuf,
    /// Flags for the permissions of the tests.
    pub(super) permissions: Vec<OsString>,
}

/// A run to start.
#[derive(Debug)]
pub(super) struct RunOrder {
    /// Its id on the page.
    pub(super) file: String,
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) parameters: BTreeMap<String, String>,
    /// Names of the secret parameters.
    pub(super) secret: Vec<String>,
    pub(super) work: OrderedWork,
    /// A k6 script: its parameters are variables of `__ENV`.
    pub(super) is_k6: bool,
}

/// Address of a running test's live page, and the token that controls it.
#[derive(Debug, Clone)]
pub(crate) struct LivePageAddress {
    /// A port on loopback.
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

/// What a process reports about itself while it runs.
#[derive(Debug, Clone)]
pub(crate) enum Announced {
    /// A run: the address of its page.
    Page(LivePageAddress),
    /// An experiment or a search: its progress.
    Progress(WorkProgress),
}

/// A run in progress.
pub(super) struct RunProcess {
    pub(super) child: Child,
    /// Reports of the process. Only Loadstone writes to it: scripts print to standard error.
    pub(super) announcements: PipeReader,
}

/// Starts the requested run.
pub(super) fn start(launch: &LaunchOptions, order: &RunOrder) -> std::io::Result<RunProcess> {
    let (announcements, announcing) = std::io::pipe()?;
    // The run inherits this end of the pipe and finds it by its number. Nothing else is started meanwhile.
    fcntl_setfd(&announcing, FdFlags::empty())?;
    let pipe = format!("/dev/fd/{}", announcing.as_raw_fd());
    let mut command = Command::new(&launch.binary);
    command.arg(order.work.command()).arg(&order.path).arg("--runs").arg(&launch.runs).args(["--quiet", "--color", "never"]);
    command.args(&launch.permissions);
    match order.work {
        OrderedWork::Run | OrderedWork::Url { .. } => {
            command.args(order.work.flags()).args(["--live", "--stop-with-stdin", "--live-address", &pipe])
        }
        OrderedWork::Experiment { .. } | OrderedWork::Capacity { .. } => command.args(order.work.flags()).args(["--progress-to", &pipe]),
    };
    for (name, value) in &order.parameters {
        if order.secret.contains(name) {
            // Other users of the machine can read a command line, but not an environment.
            let variable = if order.is_k6 { name.clone() } else { Parameter::environment_name(name) };
            command.env(variable, value);
        } else {
            command.arg(if order.is_k6 { "-e" } else { "-p" }).arg(format!("{name}={value}"));
        }
    }
    // A separate process group: Ctrl-C in the terminal reaches the page, which forwards it. The run's standard input stays open while this process lives,
    // so a run does not outlive it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn()?;
    Ok(RunProcess { child, announcements })
}

/// Reads the process's reports to their end. An address on another machine is ignored.
pub(crate) fn hear(announcements: PipeReader, mut take: impl FnMut(Announced)) {
    each_line(announcements, |line| {
        let progress = serde_json::from_str(&line).map(Announced::Progress).ok();
        if let Some(report) = progress.or_else(|| LivePageAddress::of_url(&line).map(Announced::Page)) {
            take(report);
        }
    });
}

/// Reads a run's standard error to its end, and returns the last lines.
pub(crate) fn listen(stderr: impl Read) -> VecDeque<String> {
    let mut output = VecDeque::new();
    each_line(stderr, |line| {
        if line.trim().is_empty() && output.is_empty() {
            return;
        }
        output.push_back(line);
        if output.len() > LINES_MAX {
            output.pop_front();
        }
    });
    output
}

impl LivePageAddress {
    /// From `http://127.0.0.1:40123/?token=…`.
    fn of_url(url: &str) -> Option<Self> {
        let (address, token) = url.trim().strip_prefix("http://")?.split_once("/?token=")?;
        let address: SocketAddr = address.parse().ok()?;
        address.ip().is_loopback().then(|| Self { address, token: token.to_owned() })
    }
}

/// Lines to the end of the stream. Longer lines are cut after 4 KiB.
fn each_line(stream: impl Read, mut take: impl FnMut(String)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => take(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

/// Whether the run ended in a way that no report shows.
pub(super) fn broke(status: ExitStatus) -> bool {
    [Exit::Broken, Exit::Usage].iter().any(|exit| status.code() == Some(*exit as i32)) || status.code().is_none()
}

/// Why the run failed: its last line of output, or how it ended.
pub(crate) fn failure_reason(status: ExitStatus, output: &VecDeque<String>) -> String {
    let lines: Vec<&str> = output.iter().map(String::as_str).collect();
    match (lines.join("\n").trim(), status.signal()) {
        ("", Some(signal)) => format!("the run was killed by signal {signal}"),
        ("", None) => format!("the run ended with exit code {} and no message", status.code().unwrap_or_default()),
        (text, _) => text.strip_prefix("error: ").unwrap_or(text).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_live_page_is_read_from_its_announcement() {
        let live = LivePageAddress::of_url("http://127.0.0.1:40123/?token=abc").unwrap();
        assert_eq!((live.address.to_string().as_str(), live.token.as_str()), ("127.0.0.1:40123", "abc"));
        for wrong in ["nothing", "http://203.0.113.1:80/?token=abc", "http://localhost.evil.example:80/?token=abc"] {
            assert!(LivePageAddress::of_url(wrong).is_none(), "{wrong}");
        }
    }
}
