//! A run as a process of this same binary: if it breaks, the page survives, and it measures as it would on its own.

use std::collections::{BTreeMap, VecDeque};
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

/// The most lines of a run's standard error that are kept, to say why it failed.
const LINES_MAX: usize = 40;
const LINE_BYTES_MAX: u64 = 4096;

/// What every run is started with.
#[derive(Debug)]
pub(super) struct LaunchOptions {
    pub(super) binary: PathBuf,
    /// Where run directories go.
    pub(super) runs: PathBuf,
}

/// A run to be started.
#[derive(Debug)]
pub(super) struct RunOrder {
    /// As the page knows it.
    pub(super) file: String,
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) parameters: BTreeMap<String, String>,
    /// Names of the secret parameters.
    pub(super) secret: Vec<String>,
    pub(super) work: OrderedWork,
}

/// Where the page of a running test is served, and what steers it.
#[derive(Debug, Clone)]
pub(super) struct LivePageAddress {
    /// Of this machine.
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

/// What a process says of itself while it goes on.
#[derive(Debug, Clone)]
pub(super) enum Announced {
    /// A run: where its page is.
    Page(LivePageAddress),
    /// An experiment or a search: how far it is.
    Progress(WorkProgress),
}

/// A run that goes on.
pub(super) struct RunProcess {
    pub(super) child: Child,
    /// What it says of itself. Only Loadstone writes to it: scripts print to standard error.
    pub(super) announcements: PipeReader,
}

/// Starts the run that was ordered.
pub(super) fn start(launch: &LaunchOptions, order: &RunOrder) -> std::io::Result<RunProcess> {
    let (announcements, announcing) = std::io::pipe()?;
    // The run inherits this end, and finds it by its number. Nothing else is started meanwhile.
    fcntl_setfd(&announcing, FdFlags::empty())?;
    let pipe = format!("/dev/fd/{}", announcing.as_raw_fd());
    let mut command = Command::new(&launch.binary);
    command.arg(order.work.command()).arg(&order.path).arg("--runs").arg(&launch.runs).args(["--quiet", "--color", "never"]);
    match order.work {
        OrderedWork::Run => command.args(["--live", "--stop-with-stdin", "--live-address", &pipe]),
        OrderedWork::Experiment { .. } | OrderedWork::Capacity { .. } => command.args(order.work.flags()).args(["--progress-to", &pipe]),
    };
    for (name, value) in &order.parameters {
        if order.secret.contains(name) {
            // Other users of the machine can read a command line, and not an environment.
            command.env(Parameter::environment_name(name), value);
        } else {
            command.arg("-p").arg(format!("{name}={value}"));
        }
    }
    // A group of its own: Ctrl-C in the terminal is for the page, which passes it on.
    // Its standard input is open as long as this process lives: a run does not outlive who waits for it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn()?;
    Ok(RunProcess { child, announcements })
}

/// Reads what the process says of itself to its end. A page on another machine is none.
pub(super) fn hear(announcements: PipeReader, mut take: impl FnMut(Announced)) {
    each_line(announcements, |line| {
        let progress = serde_json::from_str(&line).map(Announced::Progress).ok();
        if let Some(said) = progress.or_else(|| LivePageAddress::of_url(&line).map(Announced::Page)) {
            take(said);
        }
    });
}

/// Reads what a run says on standard error to its end, and returns the last lines.
pub(super) fn listen(stderr: impl Read) -> VecDeque<String> {
    let mut said = VecDeque::new();
    each_line(stderr, |line| {
        if line.trim().is_empty() && said.is_empty() {
            return;
        }
        said.push_back(line);
        if said.len() > LINES_MAX {
            said.pop_front();
        }
    });
    said
}

impl LivePageAddress {
    /// From `http://127.0.0.1:40123/?token=…`.
    fn of_url(url: &str) -> Option<Self> {
        let (address, token) = url.trim().strip_prefix("http://")?.split_once("/?token=")?;
        let address: SocketAddr = address.parse().ok()?;
        address.ip().is_loopback().then(|| Self { address, token: token.to_owned() })
    }
}

/// Lines to the end of the stream; of longer ones, the first 4 KiB.
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

/// Why the run failed: what it said last, or how it ended.
pub(super) fn told(status: ExitStatus, said: &VecDeque<String>) -> String {
    let lines: Vec<&str> = said.iter().map(String::as_str).collect();
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
