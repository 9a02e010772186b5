//! The queue of runs that the page starts. They run one at a time: two would share the machine and distort each other's measurements.
//!
//! Read [`RunQueue`]. Handling of a run's process is in `run_process`.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use loadstone_metrics::clock::Monotonic;
use loadstone_secrets::MASK;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use super::run_process::{Announced, LaunchOptions, LivePageAddress, RunOrder, RunProcess, broke, failure_reason, hear, listen, start};
use super::work::OrderedWork;
use crate::watched::WorkProgress;

/// Maximum number of waiting runs.
const WAITING_MAX: usize = 100;
/// Maximum number of failed runs that are still listed.
const FAILED_MAX: usize = 20;

/// Too many runs are waiting.
#[derive(Debug, thiserror::Error)]
#[error("{WAITING_MAX} runs are waiting already: remove one first")]
pub(crate) struct QueueFull;

/// An entry, as shown on the page.
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
    /// Progress of an experiment or a search.
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
    /// `pid` is `None` once the process is about to be reaped, because the system may then reuse its number.
    Running {
        pid: Option<Pid>,
        report: Option<HeardLast>,
        stopped: bool,
    },
    Failed(String),
}

/// The last progress of a process, and a clock since then.
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

    /// Running, waiting and failed entries, in request order.
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

    /// Removes a waiting or failed run. Stops a running one, and kills it on a second call. Returns false if there is no such entry.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let mut state = self.state();
        let Some(index) = state.entries.iter().position(|entry| entry.id == id) else { return false };
        match &mut state.entries[index].phase {
            RunPhase::Waiting | RunPhase::Failed(_) => drop(state.entries.remove(index)),
            running => interrupt(running),
        }
        true
    }

    /// Address of a run's live page, once it is running.
    pub(crate) fn live(&self, id: &str) -> Option<LivePageAddress> {
        self.state().entries.iter().find(|entry| entry.id == id).and_then(|entry| match &entry.phase {
            RunPhase::Running { report: Some(HeardLast { what: Announced::Page(page), .. }), .. } => Some(page.clone()),
            _ => None,
        })
    }

    /// Starts no more runs and stops the current one. Returns whether there is one.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        state.closed = true;
        self.changed.notify_all();
        drop(state);
        self.interrupt()
    }

    /// Acts like Ctrl-C in the terminal of the current run. Returns whether there is one.
    pub(crate) fn interrupt(&self) -> bool {
        let mut state = self.state();
        let mut running = state.entries.iter_mut().map(|entry| &mut entry.phase).filter(|phase| matches!(phase, RunPhase::Running { .. }));
        running.next().map(interrupt).is_some()
    }

    /// Runs queued entries until the queue is closed.
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
                entry.phase = RunPhase::Running { pid: None, report: None, stopped: false };
                return Some(entry.id.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Runs one entry from start to end. Returns the reason if it failed.
    fn perform(&self, id: &str) -> Option<String> {
        let RunProcess { mut child, announcements } = match self.start(id) {
            Ok(Some(process)) => process,
            Ok(None) => return None,
            Err(problem) => return Some(format!("cannot start {}: {problem}", self.launch.binary.display())),
        };
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                hear(announcements, |what| self.running(id, |_, report, _| *report = Some(HeardLast { what, since: Monotonic::start() })));
            });
            child.stderr.take().map(listen)
        });
        let (mut came_about, mut stopped_by_us) = (false, false);
        self.running(id, |pid, report, stopped| {
            *pid = None;
            (came_about, stopped_by_us) = (report.is_some(), *stopped);
        });
        let status = match child.wait() {
            Ok(status) => status,
            Err(problem) => return Some(format!("cannot tell how the run ended: {problem}")),
        };
        let fine = status.success() || (came_about && !broke(status)) || (stopped_by_us && !came_about);
        (!fine).then(|| failure_reason(status, &output.unwrap_or_default()))
    }

    /// The process. `None` if the run was stopped before it started.
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
        // The secrets are not needed any more.
        for name in &entry.order.secret {
            entry.order.parameters.entry(name.clone()).and_modify(|value| *value = MASK.to_owned());
        }
        Ok(Some(process))
    }

    fn running(&self, id: &str, change: impl FnOnce(&mut Option<Pid>, &mut Option<HeardLast>, &mut bool)) {
        let mut state = self.state();
        let entry = state.entries.iter_mut().find(|entry| entry.id == id);
        if let Some(RunPhase::Running { pid, report, stopped }) = entry.map(|entry| &mut entry.phase) {
            change(pid, report, stopped);
        }
    }
}

fn interrupt(phase: &mut RunPhase) {
    if let RunPhase::Running { pid, stopped, .. } = phase {
        *stopped = true;
        if let Some(pid) = pid {
            // The process may have ended just now.
            let _ = kill_process(*pid, Signal::INT);
        }
    }
}

fn failed(entry: &QueueEntry) -> bool {
    matches!(entry.phase, RunPhase::Failed(_))
}

fn shown(entry: &QueueEntry) -> QueueRow {
    let QueueEntry { id, order, phase } = entry;
    let (state, report, problem) = match phase {
        RunPhase::Waiting => ("waiting", None, None),
        RunPhase::Running { report, .. } => ("running", report.as_ref(), None),
        RunPhase::Failed(problem) => ("failed", None, Some(problem.clone())),
    };
    let (live, progress) = match report {
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
            is_k6: false,
        }
    }

    fn queue(binary: &str) -> RunQueue {
        RunQueue::new(LaunchOptions { binary: binary.into(), runs: "runs".into(), permissions: Vec::new() })
    }

    #[test]
    fn waiting_entries_can_be_removed_and_show_no_secret() {
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
    fn the_number_of_waiting_entries_is_bounded() {
        let queue = queue("/nonexistent");
        (0..WAITING_MAX).for_each(|_| queue.add(order("a")).unwrap());
        assert!(queue.add(order("a")).unwrap_err().to_string().contains("remove one first"));
    }

    #[test]
    fn a_run_that_does_not_start_shows_the_reason_until_dismissed() {
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
