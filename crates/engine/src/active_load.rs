//! A load under way, as its coordinator sees it: which leaves run, what they reported, and when all is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use metrics::clock::Monotonic;
use metrics::{Nanos, Snapshot};
use plan::TestPlan;
use tokio::sync::mpsc;

use crate::assembly::SnapshotAssembly;
use crate::control::{LoadControl, LoadEnding, LoadEvent, StopReason, WorkerError};
use crate::messages::{CoordinatorInput, LeafShared, WorkerCommand, WorkerReport};
use crate::tree::LoadTree;

/// Time between telling the workers and the instant at which a leaf begins, so that all begin together.
const LEAD_NS: Nanos = 2_000_000;

/// Walks the load tree, tells the workers what begins when, and hands on what they measured.
pub(crate) struct ActiveLoad<'a> {
    tree: LoadTree,
    /// Its zero is the run's, once every worker is ready.
    monotonic: Monotonic,
    workers: Vec<mpsc::Sender<WorkerCommand>>,
    on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    snapshots: SnapshotAssembly,
    /// Leaves that prepare what comes after them, and the scenario of each.
    set_ups: BTreeMap<u32, String>,
    /// By leaf: how long it begins after its turn.
    start_after_ns: Vec<u64>,
    /// The leaf of the tear-down, until it begins.
    tear_down: Option<u32>,
    tearing_down: bool,
    /// Per leaf: workers that have not yet ended it.
    running: BTreeMap<u32, usize>,
    /// Workers that have ended.
    done: usize,
    /// The workers were told to end.
    finishing: bool,
    /// The run is to go on after its load.
    lingers: bool,
    /// It does so now.
    lingering: bool,
    reason: Option<StopReason>,
    broke: Option<WorkerError>,
}

impl<'a> ActiveLoad<'a> {
    pub(crate) fn new(
        plan: &TestPlan,
        workers: Vec<mpsc::Sender<WorkerCommand>>,
        lingers: bool,
        on_event: &'a mut dyn FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> Self {
        Self {
            tree: LoadTree::new(&plan.load),
            monotonic: Monotonic::start(),
            snapshots: SnapshotAssembly::new(workers.len(), plan.options.series_max),
            workers,
            on_event,
            set_ups: plan.set_ups(),
            start_after_ns: plan.leaves().iter().map(|run| run.start_after_ns).collect(),
            tear_down: plan.tear_down.as_ref().map(|_| plan.load.leaves().len() as u32),
            tearing_down: false,
            running: BTreeMap::new(),
            done: 0,
            finishing: false,
            lingers,
            lingering: false,
            reason: None,
            broke: None,
        }
    }

    /// Runs the load to its end, on what its workers report and others ask for.
    pub(crate) fn run(mut self, inputs: &Receiver<CoordinatorInput>) -> LoadEnding {
        if self.prepare(inputs) {
            self.monotonic = Monotonic::start();
            self.event(LoadEvent::Ready { zero: self.monotonic });
            self.tell(&WorkerCommand::Start { zero: self.monotonic });
            let first = self.tree.begin();
            self.begin_leaves(first);
        } else {
            self.tear_down = None;
            self.finish();
        }
        self.listen(inputs);
        match (self.broke, self.reason) {
            (Some(error), _) => LoadEnding::Broke(error),
            (None, Some(reason)) => LoadEnding::Stopped(reason),
            (None, None) => LoadEnding::Completed,
        }
    }

    /// Waits until every worker is ready. Returns whether the load can begin.
    fn prepare(&mut self, inputs: &Receiver<CoordinatorInput>) -> bool {
        let mut ready = 0;
        while ready < self.workers.len() && self.broke.is_none() && self.reason.is_none() {
            match inputs.recv() {
                Ok(CoordinatorInput::Report(WorkerReport::Ready)) => ready += 1,
                Ok(CoordinatorInput::Report(WorkerReport::Broke(error))) => {
                    self.done += 1;
                    self.broke = Some(error);
                }
                Ok(CoordinatorInput::Control(LoadControl::Stop(reason) | LoadControl::Halt(reason))) => self.reason = Some(reason),
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        self.broke.is_none() && self.reason.is_none()
    }

    fn listen(&mut self, inputs: &Receiver<CoordinatorInput>) {
        while self.done < self.workers.len() {
            match inputs.recv_timeout(Duration::from_millis(500)) {
                Ok(CoordinatorInput::Report(report)) => self.report(report),
                Ok(CoordinatorInput::Control(control)) => self.control(control),
                Err(RecvTimeoutError::Timeout) => {
                    while let Some(snapshot) = self.snapshots.take_late(self.monotonic.now()) {
                        self.event(LoadEvent::Snapshot(snapshot));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Some((snapshot, is_last)) = self.snapshots.take_rest() {
            self.event(if is_last { LoadEvent::LastSnapshot(snapshot) } else { LoadEvent::Snapshot(snapshot) });
        }
    }

    fn tell(&self, command: &WorkerCommand) {
        for worker in &self.workers {
            // A worker that is gone has said so, or will.
            let _ = worker.blocking_send(command.clone());
        }
    }

    fn event(&mut self, event: LoadEvent) {
        if let Some(control) = (self.on_event)(event) {
            self.control(control);
        }
    }

    fn begin_leaves(&mut self, leaves: Vec<u32>) {
        let now = self.monotonic.now() + LEAD_NS;
        for leaf in leaves {
            let at = now + self.start_after_ns.get(leaf as usize).copied().unwrap_or(0);
            self.running.insert(leaf, self.workers.len());
            let shared = Arc::new(LeafShared::new(self.workers.len()));
            self.tell(&WorkerCommand::Begin { leaf, at, shared });
            self.event(LoadEvent::LeafBegan { leaf, at });
        }
        self.finish_when_over();
    }

    fn finish_when_over(&mut self) {
        if !self.running.is_empty() || self.finishing || self.lingering {
            return;
        }
        if self.lingers && self.reason.is_none() && self.broke.is_none() {
            self.lingering = true;
            let at = self.monotonic.now();
            self.event(LoadEvent::LoadEnded { at });
        } else {
            self.finish();
        }
    }

    /// Ends the workers; before that comes the tear-down, where they can still run it.
    fn finish(&mut self) {
        if let Some(leaf) = self.tear_down.take()
            && self.broke.is_none()
        {
            self.tearing_down = true;
            (self.lingers, self.lingering) = (false, false);
            self.begin_leaves(vec![leaf]);
        } else if !self.finishing && (!self.tearing_down || self.running.is_empty()) {
            self.finishing = true;
            self.tell(&WorkerCommand::Finish);
        }
    }

    fn report(&mut self, report: WorkerReport) {
        match report {
            // Of a worker that was not waited for, as another broke.
            WorkerReport::Ready => {}
            WorkerReport::Snapshot(snapshot) => self.add(*snapshot),
            WorkerReport::LeafEnded { leaf, threw } => self.leaf_ended(leaf, threw),
            WorkerReport::Done => self.done += 1,
            WorkerReport::Broke(error) => {
                self.done += 1;
                self.broke.get_or_insert(error);
                self.running.clear();
                self.tree.stop();
                self.finish();
            }
        }
    }

    fn add(&mut self, snapshot: Snapshot) {
        self.snapshots.add(snapshot);
        // Once the end is near, snapshots are kept back: the last one is to be known as such.
        while !self.finishing
            && let Some(snapshot) = self.snapshots.take_complete()
        {
            self.event(LoadEvent::Snapshot(snapshot));
        }
    }

    fn leaf_ended(&mut self, leaf: u32, threw: bool) {
        if threw && let Some(scenario) = self.set_ups.remove(&leaf) {
            self.control(LoadControl::Stop(StopReason::SetUp(scenario)));
        }
        let Some(left) = self.running.get_mut(&leaf) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.running.remove(&leaf);
        let at = self.monotonic.now();
        self.event(LoadEvent::LeafEnded { leaf, at });
        let next = self.tree.ended(leaf);
        self.begin_leaves(next);
    }

    fn control(&mut self, control: LoadControl) {
        match control {
            LoadControl::Release => {
                if self.lingering {
                    self.finish();
                }
            }
            LoadControl::Stop(reason) | LoadControl::Halt(reason) if self.lingering => {
                if reason != StopReason::User && !self.finishing {
                    self.reason.get_or_insert(reason);
                }
                self.finish();
            }
            // It is short, and is to run however the run ends; a second request interrupts it.
            LoadControl::Stop(_) if self.tearing_down => {}
            LoadControl::Stop(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&WorkerCommand::Stop);
            }
            LoadControl::Halt(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&WorkerCommand::Stop);
                self.tell(&WorkerCommand::Halt);
            }
            LoadControl::Scale(factor) => {
                let at = self.monotonic.now() + LEAD_NS;
                self.tell(&WorkerCommand::Scale { at, factor });
            }
        }
    }
}
