//! Runs commands of this binary as processes: a crash or a mistake of a test does not affect the server, and a run measures as it would alone.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loadstone_mcp::{ProgressReport, ToolCall, ToolError};
use loadstone_metrics::clock::Monotonic;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};

use super::workbench::Workbench;
use crate::ui::{Announced, failure_reason, hear, listen};

/// How often a process is checked, and its progress reported.
const CHECK_EVERY: Duration = Duration::from_millis(100);
const REPORT_EVERY_SECONDS: f64 = 1.0;
/// Time to end after the first request to stop, and after the second. The first one lets requests in flight end.
const GRACE_SECONDS: f64 = 40.0;
/// Longest output of a command.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// A command of this binary.
#[derive(Default)]
pub(super) struct OwnCommand {
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(String, String)>,
    /// The command reports its progress with `--progress-to`.
    pub(super) reports: bool,
    /// Expected duration in seconds.
    pub(super) expected: Option<f64>,
    /// The command is stopped after this time. Seconds.
    pub(super) seconds_max: f64,
}

/// How a command ended.
pub(super) struct CommandDone {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    /// The last lines of its messages, or how it ended.
    pub(super) messages: String,
    /// It was stopped at the time limit.
    pub(super) timed_out: bool,
}

impl CommandDone {
    /// The messages of a command that did not succeed.
    pub(super) fn problem(&self) -> Option<&str> {
        (!self.status.success()).then_some(self.messages.as_str())
    }
}

/// The latest progress that a process reported.
type Latest = Arc<Mutex<Option<(f64, f64, String)>>>;

/// Performs the command to its end.
///
/// # Errors
/// It cannot start, or the call was cancelled. Then the process has ended.
pub(super) fn perform(bench: &Workbench, work: OwnCommand, call: &ToolCall) -> Result<CommandDone, ToolError> {
    let cannot = |problem: std::io::Error| ToolError(format!("cannot start {}: {problem}", bench.binary.display()));
    let (reports, reporting) = std::io::pipe().map_err(cannot)?;
    let mut command = Command::new(&bench.binary);
    command.args(&work.arguments).args(["--color", "never"]).envs(work.environment.iter().map(|(name, value)| (name, value)));
    if work.reports {
        // The process inherits this end of the pipe and finds it by its number.
        fcntl_setfd(&reporting, FdFlags::empty()).map_err(|problem| cannot(problem.into()))?;
        command.arg("--progress-to").arg(format!("/dev/fd/{}", reporting.as_raw_fd()));
    }
    // Its standard input stays open while this process lives, so the work does not outlive it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    drop(reporting);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let latest = Latest::default();
    let clock = Monotonic::start();
    std::thread::scope(|scope| {
        let output = scope.spawn(move || {
            let mut text = String::new();
            // What is not UTF-8 is no output of this binary.
            let _ = stdout.map(|stdout| stdout.take(OUTPUT_BYTES_MAX).read_to_string(&mut text));
            text
        });
        let messages = scope.spawn(move || stderr.map(listen).unwrap_or_default());
        let heard = Arc::clone(&latest);
        scope.spawn(move || {
            hear(reports, |report| {
                if let Announced::Progress(progress) = report {
                    let report = (clock_seconds(&clock), progress.left_seconds, progress.text);
                    *heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
                }
            });
        });
        let (status, stop) = attend(&mut child, &work, call, &latest)?;
        let messages = failure_reason(status, &messages.join().unwrap_or_default());
        let stdout = output.join().unwrap_or_default();
        match stop {
            Some(StopCause::Cancelled) => Err(ToolError("the call was cancelled, and its load has ended".to_owned())),
            stop => Ok(CommandDone { status, stdout, messages, timed_out: stop.is_some() }),
        }
    })
}

fn clock_seconds(clock: &Monotonic) -> f64 {
    clock.now() as f64 / 1e9
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopCause {
    Cancelled,
    TimeLimit,
}

/// Waits for the process, reports its progress, and stops it if the call is cancelled or its time is over.
fn attend(child: &mut Child, work: &OwnCommand, call: &ToolCall, latest: &Latest) -> Result<(ExitStatus, Option<StopCause>), ToolError> {
    let (clock, pid) = (Monotonic::start(), Pid::from_child(child));
    let mut stop: Option<(StopCause, f64, Signal)> = None;
    let mut reported = 0.0;
    loop {
        if let Some(status) = child.try_wait().map_err(ToolError::of)? {
            return Ok((status, stop.map(|(cause, ..)| cause)));
        }
        let seconds = clock_seconds(&clock);
        let cause = if call.cancellation.is_requested() { Some(StopCause::Cancelled) } else { None };
        let cause = cause.or((seconds > work.seconds_max).then_some(StopCause::TimeLimit));
        match (stop, cause) {
            (None, Some(cause)) => stop = Some(signal(pid, cause, seconds, Signal::INT)),
            (Some((cause, at, Signal::INT)), _) if seconds > at + GRACE_SECONDS => stop = Some(signal(pid, cause, seconds, Signal::TERM)),
            (Some((cause, at, Signal::TERM)), _) if seconds > at + GRACE_SECONDS => stop = Some(signal(pid, cause, seconds, Signal::KILL)),
            _ => {}
        }
        if seconds - reported >= REPORT_EVERY_SECONDS {
            reported = seconds;
            call.report(progress(seconds, work.expected, latest));
        }
        std::thread::sleep(CHECK_EVERY);
    }
}

fn signal(pid: Pid, cause: StopCause, at: f64, signal: Signal) -> (StopCause, f64, Signal) {
    // The process has not been reaped, so its number is still its own.
    let _ = kill_process(pid, signal);
    (cause, at, signal)
}

fn progress(seconds: f64, expected: Option<f64>, latest: &Latest) -> ProgressReport {
    match &*latest.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((at, left, text)) => ProgressReport { seconds, expected_seconds: Some(at + left), text: text.clone() },
        None => {
            let of = expected.map_or_else(String::new, |expected| format!(" of about {}", loadstone_units::seconds(expected.round())));
            ProgressReport { seconds, expected_seconds: expected, text: format!("{}{of}", loadstone_units::seconds(seconds.round())) }
        }
    }
}
