//! The workers of one agent of a fleet. They execute the commands of a remote controller, and their seconds are merged and sent to it.
//!
//! Read [`AgentWorkers::run`]. It is the coordinator's counterpart. It walks no load tree, since the controller does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Mark, MarkKind, Snapshot};
use loadstone_plan::{IterationSplit, LoadProfile, TestPlan};
use tokio::sync::mpsc;

use crate::agent_messages::{AgentCommand, AgentReport};
use crate::assembly::SnapshotAssembly;
use crate::context::{WorkerContext, WorkerShare};
use crate::control::WorkerError;
use crate::descriptors::DescriptorTables;
use crate::handover::Handover;
use crate::liveness::{Liveness, RequestedEnd, WorkerSilence};
use crate::messages::{CoordinatorInput, IterationNumbers, LeafShared, SharedIterations, WorkerCommand, WorkerReport};
use crate::threads::{StartedWorkers, WorkerThreads};
use crate::user::UserFactory;

/// Creates the iteration numbers that all agents share. Arguments: the leaf and the count.
pub type IterationsOfLeaf = dyn Fn(u32, u64) -> Box<dyn SharedIterations>;

/// An agent's part of a run that is about to start.
pub struct AgentWorkers {
    plan: Arc<TestPlan>,
    share: WorkerShare,
    /// The first worker of every agent, in the agents' order.
    firsts: Vec<u32>,
    iterations: Box<IterationsOfLeaf>,
    tables: DescriptorTables,
    inputs: Receiver<CoordinatorInput>,
    sender: SyncSender<CoordinatorInput>,
}

/// Lets other threads forward the controller's commands.
#[derive(Clone)]
pub struct AgentCommands(SyncSender<CoordinatorInput>);

impl AgentCommands {
    /// Has no effect after the workers have ended.
    pub fn send(&self, command: AgentCommand) {
        let _ = self.0.send(CoordinatorInput::Command(command));
    }
}

impl AgentWorkers {
    /// `firsts`: the number of the first worker of every agent. `iterations`: the source of iteration numbers that all agents share.
    pub fn new(
        plan: Arc<TestPlan>,
        share: WorkerShare,
        firsts: Vec<u32>,
        iterations: Box<IterationsOfLeaf>,
        tables: DescriptorTables,
    ) -> Self {
        let (sender, inputs) = sync_channel(1024);
        Self { plan, share, firsts, iterations, tables, inputs, sender }
    }

    pub fn commands(&self) -> AgentCommands {
        AgentCommands(self.sender.clone())
    }

    /// Runs the workers until the controller ends them. `make_factory` is called once on each worker's thread, `on_report` on this thread.
    ///
    /// Returns whether a worker was abandoned. Its thread blocks a core until the process ends.
    pub fn run<C: UserFactory, E>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<C, E> + Send + Sync,
        mut on_report: impl FnMut(AgentReport),
    ) -> bool
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Self { plan, share, firsts, iterations, tables, inputs, sender } = self;
        let threads = WorkerThreads { plan: Arc::clone(&plan), share, tables };
        let mut started = StartedWorkers::default();
        match threads.start(&mut started, &sender, &make_factory) {
            Ok(workers) => {
                drop(sender);
                let abandoned = ActiveWorkers {
                    liveness: Liveness::new(workers.len()),
                    snapshots: SnapshotAssembly::new(workers.len(), plan.options.series_max),
                    plan: &plan,
                    share,
                    firsts: &firsts,
                    iterations: &*iterations,
                    workers,
                    monotonic: Monotonic::start(),
                    ready: BTreeSet::new(),
                    done: BTreeSet::new(),
                    abandoned: Vec::new(),
                    marks: Vec::new(),
                    has_begun: false,
                    broke: false,
                    leaves: BTreeMap::new(),
                    on_report: &mut on_report,
                }
                .run(&inputs);
                abandoned.iter().for_each(|worker| started.abandon(*worker));
                // A worker that continues after all must not wait for its reports to be read.
                drop(inputs);
                !abandoned.is_empty()
            }
            Err(error) => {
                on_report(AgentReport::Broke(error.to_string()));
                false
            }
        }
    }
}

struct ActiveWorkers<'a> {
    plan: &'a TestPlan,
    share: WorkerShare,
    firsts: &'a [u32],
    iterations: &'a IterationsOfLeaf,
    workers: Vec<mpsc::Sender<WorkerCommand>>,
    snapshots: SnapshotAssembly,
    monotonic: Monotonic,
    ready: BTreeSet<usize>,
    /// Workers that have ended, and abandoned ones.
    done: BTreeSet<usize>,
    /// Threads that did not respond any more. A subset of `done`.
    abandoned: Vec<usize>,
    liveness: Liveness,
    /// Events for the next snapshot's marks.
    marks: Vec<Mark>,
    has_begun: bool,
    broke: bool,
    /// By leaf: the number of workers that have ended it, and whether one of them threw.
    leaves: BTreeMap<u32, (usize, bool)>,
    on_report: &'a mut dyn FnMut(AgentReport),
}

impl ActiveWorkers<'_> {
    /// Returns the workers that must not be waited for.
    fn run(mut self, inputs: &Receiver<CoordinatorInput>) -> Vec<usize> {
        while self.done.len() < self.workers.len() {
            match inputs.recv_timeout(Duration::from_millis(500)) {
                Ok(CoordinatorInput::Command(command)) => self.command(command),
                Ok(CoordinatorInput::Report { from, report }) => self.report(from, report),
                Ok(CoordinatorInput::Control(_)) => {}
                Err(RecvTimeoutError::Timeout) => {
                    while let Some(snapshot) = self.snapshots.take_late(self.monotonic.now()) {
                        self.second(snapshot);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.check_workers();
        }
        while let Some((snapshot, _)) = self.snapshots.take_rest() {
            self.second(snapshot);
        }
        if !self.marks.is_empty() {
            self.empty_second();
        }
        match self.abandoned.first() {
            _ if self.broke => {}
            // Not earlier: the controller dismisses a broken agent, and would miss the measurements of the other workers.
            Some(worker) => {
                let worker = self.share.first + *worker as u32;
                (self.on_report)(AgentReport::Broke(WorkerError::Blocked { worker }.to_string()));
            }
            None => (self.on_report)(AgentReport::Done),
        }
        self.abandoned
    }

    fn second(&mut self, mut snapshot: Box<Snapshot>) {
        snapshot.marks.append(&mut self.marks);
        (self.on_report)(AgentReport::Snapshot(snapshot));
    }

    /// Carries marks that no worker's second can carry.
    fn empty_second(&mut self) {
        let at = self.monotonic.now();
        let slice = self.snapshots.take_number(at);
        self.second(Box::new(Snapshot { slice, start: at, end: at, ..Snapshot::default() }));
    }

    /// Reports blocked workers, and ends without them when it is time. The controller hears this process, and cannot see its threads.
    fn check_workers(&mut self) {
        // Before it is ready, a worker is silent and may still use what the caller owns.
        if !self.has_begun {
            return;
        }
        let now = self.monotonic.now();
        let (ready, done) = (&self.ready, &self.done);
        for silence in self.liveness.check(now, |worker| ready.contains(&worker) && !done.contains(&worker)) {
            let (WorkerSilence::Notice(worker) | WorkerSilence::Abandon(worker)) = silence;
            let text = silence.text(self.share.first + worker as u32);
            self.marks.push(Mark { at: now, kind: MarkKind::Warning, text });
            if let WorkerSilence::Abandon(worker) = silence {
                self.abandon(worker);
            } else if !self.snapshots.has_parts() {
                self.empty_second();
            }
        }
    }

    fn abandon(&mut self, worker: usize) {
        self.abandoned.push(worker);
        self.done.insert(worker);
        self.snapshots.lose(worker);
        self.end_workers();
    }

    /// The agent cannot continue.
    fn end_workers(&mut self) {
        self.liveness.request(RequestedEnd::Stop);
        self.send(&WorkerCommand::Halt);
        self.send(&WorkerCommand::Finish);
    }

    fn send(&self, command: &WorkerCommand) {
        for (number, worker) in self.workers.iter().enumerate().filter(|(number, _)| !self.done.contains(number)) {
            if self.liveness.may_be_blocked(number) {
                let _ = worker.try_send(command.clone());
            } else {
                // A worker that has ended has reported its end, or will.
                let _ = worker.blocking_send(command.clone());
            }
        }
    }

    fn command(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Start { zero } => {
                self.monotonic = zero;
                self.has_begun = true;
                self.liveness.begin(zero.now());
                self.send(&WorkerCommand::Start { zero });
            }
            AgentCommand::Begin { leaf, at } => {
                let shared = Arc::new(LeafShared::new(self.workers.len(), self.numbers(leaf)));
                self.send(&WorkerCommand::Begin { leaf, at, shared });
            }
            AgentCommand::Stop => {
                self.liveness.request(RequestedEnd::Stop);
                self.send(&WorkerCommand::Stop);
            }
            AgentCommand::Halt => {
                self.liveness.request(RequestedEnd::Halt);
                self.send(&WorkerCommand::Halt);
            }
            AgentCommand::Scale { at, factor } => self.send(&WorkerCommand::Scale { at, factor }),
            AgentCommand::Lease { until } => {
                for worker in &self.workers {
                    // A busy worker gets the next lease. The channel always has room for the first one.
                    let _ = worker.try_send(WorkerCommand::Lease { until });
                }
            }
            AgentCommand::HandOver { lost, left, from, is_of_load } => {
                let handover = Handover::of_agents(self.firsts, self.share.of, lost, &left, from, is_of_load);
                self.send(&WorkerCommand::HandOver(handover));
            }
            AgentCommand::Finish => {
                self.liveness.request(RequestedEnd::Stop);
                self.send(&WorkerCommand::Finish);
            }
        }
    }

    /// The agents number the iterations of closed load in turn, except for a count that all share.
    fn numbers(&self, leaf: u32) -> IterationNumbers {
        match self.plan.leaves().get(leaf as usize).map(|run| &run.profile) {
            Some(LoadProfile::Iterations { count, split: IterationSplit::Shared, .. }) => {
                IterationNumbers::Shared((self.iterations)(leaf, *count))
            }
            _ => {
                let index = self.firsts.iter().filter(|first| **first < self.share.first).count();
                IterationNumbers::every(self.firsts.len().max(1) as u64, index as u64)
            }
        }
    }

    fn report(&mut self, from: usize, report: WorkerReport) {
        if self.abandoned.contains(&from) {
            return;
        }
        self.liveness.heard(from);
        match report {
            WorkerReport::Ready => {
                self.ready.insert(from);
                if self.ready.len() == self.workers.len() {
                    (self.on_report)(AgentReport::Ready);
                }
            }
            WorkerReport::Snapshot(snapshot) => {
                self.snapshots.add(from, *snapshot);
                while let Some(snapshot) = self.snapshots.take_complete() {
                    self.second(snapshot);
                }
            }
            WorkerReport::LeafEnded { leaf, threw } => {
                let (ended, any_threw) = self.leaves.entry(leaf).or_default();
                *ended += 1;
                *any_threw |= threw;
                if *ended == self.workers.len() {
                    let threw = *any_threw;
                    (self.on_report)(AgentReport::LeafEnded { leaf, threw });
                }
            }
            WorkerReport::Done => _ = self.done.insert(from),
            WorkerReport::Broke(error) => {
                self.done.insert(from);
                if !std::mem::replace(&mut self.broke, true) {
                    (self.on_report)(AgentReport::Broke(error.to_string()));
                    self.end_workers();
                }
            }
            WorkerReport::Lost { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
