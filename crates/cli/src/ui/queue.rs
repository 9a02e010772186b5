//! Runs asked for from the page, one at a time: two would share the machine and measure each other.
//!
//! A run is a process of this same binary: what breaks in it does not take the page along, and it measures as it would alone.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use plan::Parameter;
use rustix::process::{Pid, Signal, kill_process};
use secrets::MASK;
use serde::Serialize;

use crate::exit::Exit;
use crate::live_page::ANNOUNCED;

/// Runs that may wait.
const WAITING_MAX: usize = 100;
/// Runs that did not come about and are still shown.
const FAILED_MAX: usize = 20;
/// What a run says on standard error, kept for the case that it does not come about.
const LINES_MAX: usize = 40;
const LINE_BYTES_MAX: u64 = 4096;

/// What every run is started with.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) binary: PathBuf,
    /// Where run directories go.
    pub(crate) runs: PathBuf,
}

/// A run that someone asked for.
#[derive(Debug)]
pub(crate) struct Order {
    /// As the page knows it.
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) parameters: BTreeMap<String, String>,
    /// Names of the parameters that must not be seen.
    pub(crate) secret: Vec<String>,
}

/// Where the page of a running test is served, and what steers it.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// Host and port.
    pub(crate) address: String,
    pub(crate) token: String,
}

/// An entry as the page sees it.
#[derive(Debug, Serialize)]
pub(crate) struct Queued {
    id: String,
    file: String,
    name: String,
    state: &'static str,
    parameters: BTreeMap<String, String>,
    live: Option<String>,
    /// Why it did not come about.
    problem: Option<String>,
}

#[derive(Debug)]
struct Entry {
    id: String,
    order: Order,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Waiting,
    /// `pid` is gone once the process is about to be reaped: its number may then mean another.
    Running {
        pid: Option<Pid>,
        live: Option<Live>,
        stopped: bool,
    },
    Failed(String),
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    ordered: u64,
    closed: bool,
}

#[derive(Debug)]
pub(crate) struct Queue {
    launch: Launch,
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    pub(crate) fn new(launch: Launch) -> Self {
        Self { launch, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In order: what runs, what waits, and what did not come about.
    pub(crate) fn list(&self) -> Vec<Queued> {
        self.state().entries.iter().map(shown).collect()
    }

    /// # Errors
    /// A sentence when too many wait already.
    pub(crate) fn add(&self, order: Order) -> Result<(), String> {
        let mut state = self.state();
        if state.entries.iter().filter(|entry| matches!(entry.phase, Phase::Waiting)).count() >= WAITING_MAX {
            return Err(format!("{WAITING_MAX} runs wait already: take one out first"));
        }
        state.ordered += 1;
        let id = format!("q{}", state.ordered);
        state.entries.push(Entry { id, order, phase: Phase::Waiting });
        self.changed.notify_all();
        Ok(())
    }

    /// What waits or failed is taken out; what runs is stopped, and cut off when asked a second time. False: there is no such entry.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let mut state = self.state();
        let Some(index) = state.entries.iter().position(|entry| entry.id == id) else { return false };
        match &mut state.entries[index].phase {
            Phase::Waiting | Phase::Failed(_) => drop(state.entries.remove(index)),
            running => interrupt(running),
        }
        true
    }

    /// Where the live page of a run is served, once it runs.
    pub(crate) fn live(&self, id: &str) -> Option<Live> {
        self.state().entries.iter().find(|entry| entry.id == id).and_then(|entry| match &entry.phase {
            Phase::Running { live, .. } => live.clone(),
            Phase::Waiting | Phase::Failed(_) => None,
        })
    }

    /// Starts no more runs and stops the one under way. True: there is one.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        drop(state);
        self.interrupt()
    }

    /// As Ctrl-C in the terminal of the run under way. True: there is one.
    pub(crate) fn interrupt(&self) -> bool {
        let mut state = self.state();
        let mut running = state.entries.iter_mut().map(|entry| &mut entry.phase).filter(|phase| matches!(phase, Phase::Running { .. }));
        running.next().map(interrupt).is_some()
    }

    /// Runs what is asked for until the queue is closed.
    pub(crate) fn work(&self) {
        while let Some(id) = self.next() {
            let problem = self.perform(&id);
            let mut state = self.state();
            let Some(index) = state.entries.iter().position(|entry| entry.id == id) else { continue };
            match problem {
                None => drop(state.entries.remove(index)),
                Some(problem) => state.entries[index].phase = Phase::Failed(problem),
            }
            while state.entries.iter().filter(|entry| failed(entry)).count() > FAILED_MAX {
                let Some(oldest) = state.entries.iter().position(failed) else { break };
                state.entries.remove(oldest);
            }
        }
    }

    /// Waits for a run to be asked for and marks it as running.
    fn next(&self) -> Option<String> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(entry) = state.entries.iter_mut().find(|entry| matches!(entry.phase, Phase::Waiting)) {
                entry.phase = Phase::Running { pid: None, live: None, stopped: false };
                return Some(entry.id.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One run from start to end. Returns why it did not come about.
    fn perform(&self, id: &str) -> Option<String> {
        let mut child = match self.start(id) {
            Ok(Some(child)) => child,
            Ok(None) => return None,
            Err(problem) => return Some(format!("{} cannot be started: {problem}", self.launch.binary.display())),
        };
        let mut said = VecDeque::new();
        if let Some(stderr) = child.stderr.take() {
            each_line(stderr, |line| match line.strip_prefix(ANNOUNCED).and_then(live_of) {
                Some(announced) => self.running(id, |_, live, _| *live = Some(announced)),
                None if line.trim().is_empty() && said.is_empty() => {}
                None => {
                    said.push_back(line);
                    if said.len() > LINES_MAX {
                        said.pop_front();
                    }
                }
            });
        }
        let (mut came_about, mut stopped_by_us) = (false, false);
        self.running(id, |pid, live, stopped| {
            *pid = None;
            (came_about, stopped_by_us) = (live.is_some(), *stopped);
        });
        let status = match child.wait() {
            Ok(status) => status,
            Err(problem) => return Some(format!("how the run ended cannot be told: {problem}")),
        };
        let fine = status.success() || (came_about && !broke(status)) || (stopped_by_us && !came_about);
        (!fine).then(|| told(status, &said))
    }

    /// The process; none when the run was stopped before it began.
    fn start(&self, id: &str) -> std::io::Result<Option<Child>> {
        let mut state = self.state();
        let Some(entry) = state.entries.iter_mut().find(|entry| entry.id == id) else { return Ok(None) };
        if matches!(entry.phase, Phase::Running { stopped: true, .. }) {
            return Ok(None);
        }
        let mut command = Command::new(&self.launch.binary);
        command.arg("run").arg(&entry.order.path).arg("--runs").arg(&self.launch.runs).args([
            "--live",
            "--quiet",
            "--color",
            "never",
            "--stop-with-stdin",
        ]);
        for (name, value) in &entry.order.parameters {
            if entry.order.secret.contains(name) {
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
        if let Phase::Running { pid, .. } = &mut entry.phase {
            *pid = Some(Pid::from_child(&child));
        }
        // Nothing needs the secrets any more.
        for name in &entry.order.secret {
            entry.order.parameters.entry(name.clone()).and_modify(|value| *value = MASK.to_owned());
        }
        Ok(Some(child))
    }

    fn running(&self, id: &str, change: impl FnOnce(&mut Option<Pid>, &mut Option<Live>, &mut bool)) {
        let mut state = self.state();
        let entry = state.entries.iter_mut().find(|entry| entry.id == id);
        if let Some(Phase::Running { pid, live, stopped }) = entry.map(|entry| &mut entry.phase) {
            change(pid, live, stopped);
        }
    }
}

fn interrupt(phase: &mut Phase) {
    if let Phase::Running { pid, stopped, .. } = phase {
        *stopped = true;
        if let Some(pid) = pid {
            // It may have ended by itself just now.
            let _ = kill_process(*pid, Signal::INT);
        }
    }
}

fn failed(entry: &Entry) -> bool {
    matches!(entry.phase, Phase::Failed(_))
}

fn shown(entry: &Entry) -> Queued {
    let Entry { id, order, phase } = entry;
    let (state, live, problem) = match phase {
        Phase::Waiting => ("waiting", None, None),
        Phase::Running { live, .. } => ("running", live.as_ref().map(|_| format!("/live/{id}")), None),
        Phase::Failed(problem) => ("failed", None, Some(problem.clone())),
    };
    let seen = |(name, value): (&String, &String)| {
        let value = if order.secret.contains(name) { MASK } else { value };
        (name.clone(), value.to_owned())
    };
    let parameters = order.parameters.iter().map(seen).collect();
    Queued { id: id.clone(), file: order.file.clone(), name: order.name.clone(), state, parameters, live, problem }
}

/// `http://127.0.0.1:40123/?token=…`
fn live_of(url: &str) -> Option<Live> {
    let (address, token) = url.trim().strip_prefix("http://")?.split_once("/?token=")?;
    Some(Live { address: address.to_owned(), token: token.to_owned() })
}

/// Lines to the end of the stream; of longer ones, the first 4 KiB.
fn each_line(stream: impl std::io::Read, mut take: impl FnMut(String)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match std::io::Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => take(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }
}

/// Ended in a way that its report does not tell.
fn broke(status: ExitStatus) -> bool {
    [Exit::Broken, Exit::Usage].iter().any(|exit| status.code() == Some(*exit as i32)) || status.code().is_none()
}

fn told(status: ExitStatus, said: &VecDeque<String>) -> String {
    let lines: Vec<&str> = said.iter().map(String::as_str).collect();
    match (lines.join("\n").trim(), status.signal()) {
        ("", Some(signal)) => format!("the run was killed by signal {signal}"),
        ("", None) => format!("the run ended with exit code {} and said nothing", status.code().unwrap_or_default()),
        (text, _) => text.strip_prefix("error: ").unwrap_or(text).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(file: &str) -> Order {
        let parameters = [("rate", "2"), ("key", "s3cret")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Order { file: file.to_owned(), path: file.into(), name: file.to_owned(), parameters, secret: vec!["key".to_owned()] }
    }

    fn queue(binary: &str) -> Queue {
        Queue::new(Launch { binary: binary.into(), runs: "runs".into() })
    }

    #[test]
    fn what_waits_can_be_taken_out_and_shows_no_secret() {
        let queue = queue("/nonexistent");
        queue.add(order("a")).unwrap();
        queue.add(order("b")).unwrap();
        let listed = queue.list();
        assert_eq!(listed.iter().map(|one| (one.id.as_str(), one.state)).collect::<Vec<_>>(), [("q1", "waiting"), ("q2", "waiting")]);
        assert!(!serde_json::to_string(&listed).unwrap().contains("s3cret"));
        assert!(queue.cancel("q1") && !queue.cancel("q1"));
        assert_eq!(queue.list().len(), 1);
    }

    #[test]
    fn the_number_that_wait_is_bounded() {
        let queue = queue("/nonexistent");
        (0..WAITING_MAX).for_each(|_| queue.add(order("a")).unwrap());
        assert!(queue.add(order("a")).unwrap_err().contains("take one out"));
    }

    #[test]
    fn a_run_that_does_not_come_about_says_why_and_is_shown_until_dismissed() {
        let queue = queue("/nonexistent/loadstone");
        queue.add(order("a")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| queue.work());
            while queue.list()[0].state != "failed" {
                std::thread::yield_now();
            }
            queue.close();
        });
        assert!(queue.list()[0].problem.as_ref().unwrap().contains("/nonexistent/loadstone cannot be started"));
        assert!(queue.cancel("q1"));
        assert!(queue.list().is_empty());
    }

    #[test]
    fn the_address_of_a_live_page_is_read_from_its_announcement() {
        let live = live_of("http://127.0.0.1:40123/?token=abc").unwrap();
        assert_eq!((live.address.as_str(), live.token.as_str()), ("127.0.0.1:40123", "abc"));
        assert!(live_of("nothing").is_none());
    }
}
