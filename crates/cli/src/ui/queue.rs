//! The queue of runs started from the page. They run one at a time: two would share the machine and measure each other.
//!
//! Read [`RunQueue`]; what happens to a run's process is in `run_process`.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use loadstone_metrics::clock::Monotonic;
use loadstone_secrets::MASK;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use super::run_process::{Announced, LaunchOptions, LivePageAddress, RunOrder, RunProcess, broke, hear, listen, start, told};
use super::work::OrderedWork;
use crate::watched::WorkProgress;

/// The most runs that may wait.
const WAITING_MAX: usize = 100;
/// The most failed runs that are still shown.
const FAILED_MAX: usize = 20;

/// Too many runs wait already.
#[derive(Debug, thiserror::Error)]
#[error("{WAITING_MAX} runs are waiting already: remove one first")]
pub(crate) struct QueueFull;

/// An entry as the page sees it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct QueueRow {
    id: String,
    file: String,
    name: String,
    #[cfg_attr(test, ts(type = "\"waiting\" | \"running\" | \"failed\""))]
    state: &'static str,
    parameters: BTreeMap<String, String>,
    work: OrderedWork,
    live: Option<String>,
    /// How far an experiment or a search is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<WorkProgress>,
    /// Why it failed.
    problem: Option<String>,
}

#[derive(Debug)]
struct QueueEntry {
    id: String,
    order: RunOrder,
    phase: RunPhase,
}

#[derive(Debug)]
enum RunPhase {
    Waiting,
    /// `pid` is `None` once the process is about to be reaped: its number may then belong to another one.
    Running {
        pid: Option<Pid>,
        said: Option<HeardLast>,
        stopped: bool,
    },
    Failed(String),
}

/// What a process said last, and a clock that runs since then.
#[derive(Debug)]
struct HeardLast {
    what: Announced,
    since: Monotonic,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: Vec<QueueEntry>,
    ordered: u64,
    closed: bool,
}

#[derive(Debug)]
pub(crate) struct RunQueue {
    launch: LaunchOptions,
    state: Mutex<QueueState>,
    changed: Condvar,
}

impl RunQueue {
    pub(crate) fn new(launch: LaunchOptions) -> Self {
        Self { launch, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is running, waiting, and failed, in the order of the requests.
    pub(crate) fn list(&self) -> Vec<QueueRow> {
        self.state().entries.iter().map(shown).collect()
    }

    /// # Errors
    /// [`QueueFull`]
    pub(crate) fn add(&self, order: RunOrder) -> Result<(), QueueFull> {
        let mut state = self.state();
        if state.entries.iter().filter(|entry| matches!(entry.phase, RunPhase::Waiting)).count() >= WAITING_MAX {
            return Err(QueueFull);
        }
        state.ordered += 1;
        let id = format!("q{}", state.ordered);
        state.entries.push(QueueEntry { id, order, phase: RunPhase::Waiting });
        self.changed.notify_all();
        Ok(())
    }

    /// Removes a waiting or failed run; stops a running one, and halts it when called again. Returns false if there is no such entry.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let mut state = self.state();
        let Some(index) = state.entries.iter().position(|entry| entry.id == id) else { return false };
        match &mut state.entries[index].phase {
            RunPhase::Waiting | RunPhase::Failed(_) => drop(state.entries.remove(index)),
            running => interrupt(running),
        }
        true
    }

    /// Where the live page of a run is served, once it runs.
    pub(crate) fn live(&self, id: &str) -> Option<LivePageAddress> {
        self.state().entries.iter().find(|entry| entry.id == id).and_then(|entry| match &entry.phase {
            RunPhase::Running { said: Some(HeardLast { what: Announced::Page(page), .. }), .. } => Some(page.clone()),
            _ => None,
        })
    }

    /// Starts no more runs and stops the one in progress. Returns whether there is one.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        drop(state);
        self.interrupt()
    }

    /// Does what Ctrl-C in the terminal of the run in progress would. Returns whether there is one.
    pub(crate) fn interrupt(&self) -> bool {
        let mut state = self.state();
        let mut running = state.entries.iter_mut().map(|entry| &mut entry.phase).filter(|phase| matches!(phase, RunPhase::Running { .. }));
        running.next().map(interrupt).is_some()
    }

    /// Runs what is queued until the queue is closed.
    pub(crate) fn work(&self) {
        while let Some(id) = self.next() {
            let problem = self.perform(&id);
            let mut state = self.state();
            let Some(index) = state.entries.iter().position(|entry| entry.id == id) else { continue };
            match problem {
                None => drop(state.entries.remove(index)),
                Some(problem) => state.entries[index].phase = RunPhase::Failed(problem),
            }
            while state.entries.iter().filter(|entry| failed(entry)).count() > FAILED_MAX {
                let Some(oldest) = state.entries.iter().position(failed) else { break };
                state.entries.remove(oldest);
            }
        }
    }

    /// Waits for the next run and marks it as running.
    fn next(&self) -> Option<String> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(entry) = state.entries.iter_mut().find(|entry| matches!(entry.phase, RunPhase::Waiting)) {
                entry.phase = RunPhase::Running { pid: None, said: None, stopped: false };
                return Some(entry.id.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One run from start to end. Returns why it failed, if it did.
    fn perform(&self, id: &str) -> Option<String> {
        let RunProcess { mut child, announcements } = match self.start(id) {
            Ok(Some(process)) => process,
            Ok(None) => return None,
            Err(problem) => return Some(format!("cannot start {}: {problem}", self.launch.binary.display())),
        };
        let said = std::thread::scope(|scope| {
            scope.spawn(|| {
                hear(announcements, |what| self.running(id, |_, said, _| *said = Some(HeardLast { what, since: Monotonic::start() })));
            });
            child.stderr.take().map(listen)
        });
        let (mut came_about, mut stopped_by_us) = (false, false);
        self.running(id, |pid, said, stopped| {
            *pid = None;
            (came_about, stopped_by_us) = (said.is_some(), *stopped);
        });
        let status = match child.wait() {
            Ok(status) => status,
            Err(problem) => return Some(format!("cannot tell how the run ended: {problem}")),
        };
        let fine = status.success() || (came_about && !broke(status)) || (stopped_by_us && !came_about);
        (!fine).then(|| told(status, &said.unwrap_or_default()))
    }

    /// The process; `None` if the run was stopped before it began.
    fn start(&self, id: &str) -> std::io::Result<Option<RunProcess>> {
        let mut state = self.state();
        let Some(entry) = state.entries.iter_mut().find(|entry| entry.id == id) else { return Ok(None) };
        if matches!(entry.phase, RunPhase::Running { stopped: true, .. }) {
            return Ok(None);
        }
        let process = start(&self.launch, &entry.order)?;
        if let RunPhase::Running { pid, .. } = &mut entry.phase {
            *pid = Some(Pid::from_child(&process.child));
        }
        // Nothing needs the secrets from here on.
        for name in &entry.order.secret {
            entry.order.parameters.entry(name.clone()).and_modify(|value| *value = MASK.to_owned());
        }
        Ok(Some(process))
    }

    fn running(&self, id: &str, change: impl FnOnce(&mut Option<Pid>, &mut Option<HeardLast>, &mut bool)) {
        let mut state = self.state();
        let entry = state.entries.iter_mut().find(|entry| entry.id == id);
        if let Some(RunPhase::Running { pid, said, stopped }) = entry.map(|entry| &mut entry.phase) {
            change(pid, said, stopped);
        }
    }
}

fn interrupt(phase: &mut RunPhase) {
    if let RunPhase::Running { pid, stopped, .. } = phase {
        *stopped = true;
        if let Some(pid) = pid {
            // It may have ended by itself just now.
            let _ = kill_process(*pid, Signal::INT);
        }
    }
}

fn failed(entry: &QueueEntry) -> bool {
    matches!(entry.phase, RunPhase::Failed(_))
}

fn shown(entry: &QueueEntry) -> QueueRow {
    let QueueEntry { id, order, phase } = entry;
    let (state, said, problem) = match phase {
        RunPhase::Waiting => ("waiting", None, None),
        RunPhase::Running { said, .. } => ("running", said.as_ref(), None),
        RunPhase::Failed(problem) => ("failed", None, Some(problem.clone())),
    };
    let (live, progress) = match said {
        Some(HeardLast { what: Announced::Page(_), .. }) => (Some(format!("/live/{id}")), None),
        Some(HeardLast { what: Announced::Progress(progress), since }) => (None, Some(progress.after(since.now() as f64 / 1e9))),
        None => (None, None),
    };
    let seen = |(name, value): (&String, &String)| {
        let value = if order.secret.contains(name) { MASK } else { value };
        (name.clone(), value.to_owned())
    };
    let parameters = order.parameters.iter().map(seen).collect();
    let (id, file, name, work) = (id.clone(), order.file.clone(), order.name.clone(), order.work.clone());
    QueueRow { id, file, name, state, parameters, work, live, progress, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(file: &str) -> RunOrder {
        let parameters = [("rate", "2"), ("key", "s3cret")].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        RunOrder {
            file: file.to_owned(),
            path: file.into(),
            name: file.to_owned(),
            parameters,
            secret: vec!["key".to_owned()],
            work: OrderedWork::Run,
        }
    }

    fn queue(binary: &str) -> RunQueue {
        RunQueue::new(LaunchOptions { binary: binary.into(), runs: "runs".into() })
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
        assert!(queue.add(order("a")).unwrap_err().to_string().contains("remove one first"));
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
        assert!(queue.list()[0].problem.as_ref().unwrap().contains("cannot start /nonexistent/loadstone"));
        assert!(queue.cancel("q1"));
        assert!(queue.list().is_empty());
    }
}
