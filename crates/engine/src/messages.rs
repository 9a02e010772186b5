//! What the coordinator, its workers and those who steer the load send each other, and the channels for it.
//!
//! Everything that crosses from one of these threads to another is declared here, so that neither side needs to know the other. Read
//! [`WorkerCommand`] and [`WorkerReport`] first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

use crate::agent_messages::{AgentCommand, AgentReport};
use crate::control::{LoadControl, WorkerError};
use crate::exchange::ArrivalExchange;
use crate::handover::Handover;

/// Length of the time that a snapshot covers.
pub(crate) const SNAPSHOT_NS: Nanos = 1_000_000_000;

/// What the coordinator tells a worker.
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
    /// Start nothing from this instant on, until a later one is told.
    Lease { until: Nanos },
    /// Others were lost.
    HandOver(Handover),
    /// Hand over what is left and end.
    Finish,
}

/// What the workers of one leaf share, in one process.
#[derive(Debug)]
pub(crate) struct LeafShared {
    /// Closed load: numbers of its iterations.
    pub(crate) numbers: IterationNumbers,
    /// Open load: how arrivals find a free user.
    pub(crate) exchange: Arc<ArrivalExchange>,
}

impl LeafShared {
    pub(crate) fn new(workers: usize, numbers: IterationNumbers) -> Self {
        Self { numbers, exchange: Arc::new(ArrivalExchange::new(workers)) }
    }
}

/// Numbers of iterations that several processes share: each once.
pub trait SharedIterations: Send + Sync {
    /// The next one; waits for it. `None`: there are no more.
    fn take(&self) -> Option<u64>;
}

/// Numbers the iterations of a closed leaf: every number from 0 once, whichever process takes it.
pub(crate) enum IterationNumbers {
    /// Of `of` processes that take numbers in turn, those of the one with this index.
    InTurn { taken: AtomicU64, index: u64, of: u64 },
    /// A count that all share: whoever is ahead takes more.
    Shared(Box<dyn SharedIterations>),
}

impl std::fmt::Debug for IterationNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, IterationNumbers::InTurn { .. }) { "InTurn" } else { "Shared" })
    }
}

impl IterationNumbers {
    /// All of them.
    pub(crate) fn all() -> Self {
        Self::every(1, 0)
    }

    /// Every `of`th, from `index` on.
    pub(crate) fn every(of: u64, index: u64) -> Self {
        IterationNumbers::InTurn { taken: AtomicU64::new(0), index, of }
    }

    /// `None`: there are no more.
    pub(crate) fn take(&self) -> Option<u64> {
        match self {
            // Relaxed: the counter orders nothing but itself.
            IterationNumbers::InTurn { taken, index, of } => Some(taken.fetch_add(1, Ordering::Relaxed) * of + index),
            IterationNumbers::Shared(shared) => shared.take(),
        }
    }
}

/// What a worker tells the coordinator.
#[derive(Debug)]
pub(crate) enum WorkerReport {
    /// The worker has made what its users need, and waits for the start.
    Ready,
    Snapshot(Box<Snapshot>),
    /// `threw`: an iteration of it was broken off by an error of its own.
    LeafEnded {
        leaf: u32,
        threw: bool,
    },
    /// The worker has ended; its last snapshot came before.
    Done,
    /// The worker could not go on.
    Broke(WorkerError),
    /// Of an agent, see [`AgentReport::Lost`].
    Lost {
        why: String,
        started_before: Option<Nanos>,
    },
}

/// What the coordinator receives.
pub(crate) enum CoordinatorInput {
    /// `from`: number of the worker among those that the coordinator has, or of the agent.
    Report {
        from: usize,
        report: WorkerReport,
    },
    Control(LoadControl),
    /// Of an agent's controller, see [`AgentWorkers`](crate::AgentWorkers).
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
        // The coordinator outlives its workers; if it is gone, there is nobody to tell.
        let _ = self.inputs.send(CoordinatorInput::Report { from: self.from, report });
    }

    /// Gives the snapshot back where the coordinator's queue is full.
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

/// A handle by which other threads steer the load.
#[derive(Clone)]
pub struct LoadHandle {
    inputs: SyncSender<CoordinatorInput>,
}

impl LoadHandle {
    pub(crate) fn new(inputs: SyncSender<CoordinatorInput>) -> Self {
        Self { inputs }
    }

    /// Ignored once the run has ended.
    pub fn send(&self, control: LoadControl) {
        let _ = self.inputs.send(CoordinatorInput::Control(control));
    }

    /// What an agent tells, by its number. Ignored once the run has ended.
    pub fn report(&self, agent: usize, report: AgentReport) {
        let _ = self.inputs.send(CoordinatorInput::Report { from: agent, report: report.into() });
    }
}

impl WorkerCommand {
    /// The same for an agent. `None`: it is an agent's own to its workers.
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
