//! Messages between the coordinator, its workers and the threads that control the load, and their channels.
//!
//! Everything that crosses from one of these threads to another is declared here, so that neither side depends on the other. Read [`WorkerCommand`]
//! and [`WorkerReport`] first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

use crate::agent_messages::{AgentCommand, AgentReport};
use crate::control::{LoadControl, WorkerError};
use crate::exchange::ArrivalExchange;
use crate::handover::Handover;

/// Length of one snapshot.
pub(crate) const SNAPSHOT_NS: Nanos = 1_000_000_000;

/// A command from the coordinator to a worker.
#[derive(Debug, Clone)]
pub(crate) enum WorkerCommand {
    /// All workers are ready: the run's time begins.
    Start { zero: Monotonic },
    /// Start a leaf at an instant.
    Begin { leaf: u32, at: Nanos, shared: Arc<LeafShared> },
    /// Start no more iterations; let the running ones finish within their graceful stop.
    Stop,
    /// Interrupt all iterations.
    Halt,
    /// Scale the load relative to the plan, from an instant on.
    Scale { at: Nanos, factor: f64 },
    /// Start no iteration from this instant on, until another lease extends it.
    Lease { until: Nanos },
    /// Other workers were lost.
    HandOver(Handover),
    /// Send the remaining snapshots, and end.
    Finish,
}

/// State that the workers of one leaf share, in one process.
#[derive(Debug)]
pub(crate) struct LeafShared {
    /// Closed load: the numbers of its iterations.
    pub(crate) numbers: IterationNumbers,
    /// Open load: how arrivals find a free user.
    pub(crate) exchange: Arc<ArrivalExchange>,
}

impl LeafShared {
    pub(crate) fn new(workers: usize, numbers: IterationNumbers) -> Self {
        Self { numbers, exchange: Arc::new(ArrivalExchange::new(workers)) }
    }
}

/// Iteration numbers that several processes share. Each number is taken once.
pub trait SharedIterations: Send + Sync {
    /// The next number. Blocks until it is known. `None`: there are no more.
    fn take(&self) -> Option<u64>;
}

/// Numbers the iterations of a closed leaf from 0. One process takes each number.
pub(crate) enum IterationNumbers {
    /// `of` processes take numbers in turn, and this is the process `index`.
    InTurn { taken: AtomicU64, index: u64, of: u64 },
    /// A count that all processes share: a faster process takes more.
    Shared(Box<dyn SharedIterations>),
}

impl std::fmt::Debug for IterationNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, IterationNumbers::InTurn { .. }) { "InTurn" } else { "Shared" })
    }
}

impl IterationNumbers {
    /// All numbers.
    pub(crate) fn all() -> Self {
        Self::every(1, 0)
    }

    /// Every `of`th number, from `index` on.
    pub(crate) fn every(of: u64, index: u64) -> Self {
        IterationNumbers::InTurn { taken: AtomicU64::new(0), index, of }
    }

    /// `None`: there are no more.
    pub(crate) fn take(&self) -> Option<u64> {
        match self {
            // Relaxed: the counter does not order any other memory access.
            IterationNumbers::InTurn { taken, index, of } => Some(taken.fetch_add(1, Ordering::Relaxed) * of + index),
            IterationNumbers::Shared(shared) => shared.take(),
        }
    }
}

/// A report from a worker to the coordinator.
#[derive(Debug)]
pub(crate) enum WorkerReport {
    /// The worker has prepared for its users and waits for the start.
    Ready,
    Snapshot(Box<Snapshot>),
    /// `threw`: an iteration of the leaf ended with an error that its script did not handle.
    LeafEnded {
        leaf: u32,
        threw: bool,
    },
    /// The worker has ended. Its last snapshot was sent before this report.
    Done,
    /// The worker could not continue.
    Broke(WorkerError),
    /// From an agent: see [`AgentReport::Lost`].
    Lost {
        why: String,
        started_before: Option<Nanos>,
    },
}

/// What the coordinator receives.
pub(crate) enum CoordinatorInput {
    /// `from`: number of the worker among those of this coordinator, or number of the agent.
    Report {
        from: usize,
        report: WorkerReport,
    },
    Control(LoadControl),
    /// From an agent's controller: see [`AgentWorkers`](crate::AgentWorkers).
    Command(AgentCommand),
}

/// A worker's channel to the coordinator.
#[derive(Clone)]
pub(crate) struct WorkerLink {
    inputs: SyncSender<CoordinatorInput>,
    from: usize,
}

impl WorkerLink {
    pub(crate) fn new(inputs: SyncSender<CoordinatorInput>, from: usize) -> Self {
        Self { inputs, from }
    }

    /// Waits while the coordinator's queue is full.
    pub(crate) fn send(&self, report: WorkerReport) {
        // The coordinator outlives its workers. If it has ended, nobody needs the report.
        let _ = self.inputs.send(CoordinatorInput::Report { from: self.from, report });
    }

    /// Returns the snapshot if the coordinator's queue is full.
    pub(crate) fn try_send(&self, snapshot: Box<Snapshot>) -> Result<(), Box<Snapshot>> {
        let report = WorkerReport::Snapshot(snapshot);
        match self.inputs.try_send(CoordinatorInput::Report { from: self.from, report }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(input) | TrySendError::Disconnected(input)) => match input {
                CoordinatorInput::Report { report: WorkerReport::Snapshot(snapshot), .. } => Err(snapshot),
                _ => Ok(()),
            },
        }
    }
}

/// A handle with which other threads control the load.
#[derive(Clone)]
pub struct LoadHandle {
    inputs: SyncSender<CoordinatorInput>,
}

impl LoadHandle {
    pub(crate) fn new(inputs: SyncSender<CoordinatorInput>) -> Self {
        Self { inputs }
    }

    /// Has no effect after the run has ended.
    pub fn send(&self, control: LoadControl) {
        let _ = self.inputs.send(CoordinatorInput::Control(control));
    }

    /// Forwards an agent's report, by the agent's number. Has no effect after the run has ended.
    pub fn report(&self, agent: usize, report: AgentReport) {
        let _ = self.inputs.send(CoordinatorInput::Report { from: agent, report: report.into() });
    }
}

impl WorkerCommand {
    /// The equivalent command for an agent. `None`: the command exists only between an agent and its workers.
    pub(crate) fn of_agent(&self) -> Option<AgentCommand> {
        Some(match *self {
            WorkerCommand::Start { zero } => AgentCommand::Start { zero },
            WorkerCommand::Begin { leaf, at, .. } => AgentCommand::Begin { leaf, at },
            WorkerCommand::Stop => AgentCommand::Stop,
            WorkerCommand::Halt => AgentCommand::Halt,
            WorkerCommand::Scale { at, factor } => AgentCommand::Scale { at, factor },
            WorkerCommand::Finish => AgentCommand::Finish,
            WorkerCommand::Lease { .. } | WorkerCommand::HandOver(_) => return None,
        })
    }
}

impl From<AgentReport> for WorkerReport {
    fn from(report: AgentReport) -> Self {
        match report {
            AgentReport::Ready => WorkerReport::Ready,
            AgentReport::Snapshot(snapshot) => WorkerReport::Snapshot(snapshot),
            AgentReport::LeafEnded { leaf, threw } => WorkerReport::LeafEnded { leaf, threw },
            AgentReport::Done => WorkerReport::Done,
            AgentReport::Broke(problem) => WorkerReport::Broke(WorkerError::Agent(problem)),
            AgentReport::Lost { why, started_before } => WorkerReport::Lost { why, started_before },
        }
    }
}
