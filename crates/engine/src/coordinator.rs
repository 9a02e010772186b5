//! Starts the workers' threads, runs the load over them, and waits for their end.
//!
//! Read [`Coordinator::run`] first; what happens while the load is under way is in `active_load`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plan::TestPlan;
use tokio::sync::mpsc;

use crate::active_load::ActiveLoad;
use crate::context::WorkerContext;
use crate::control::{LoadControl, LoadEnding, LoadEvent, WorkerError};
use crate::descriptors::DescriptorTables;
use crate::messages::{CoordinatorInput, LoadHandle, WorkerLink};
use crate::user::UserFactory;
use crate::worker::{self, WorkerSetup};

/// A run about to start.
pub struct Coordinator {
    plan: Arc<TestPlan>,
    workers: u32,
    inputs: Receiver<CoordinatorInput>,
    sender: SyncSender<CoordinatorInput>,
    lingers: bool,
    tables: DescriptorTables,
}

impl Coordinator {
    /// `workers`: one per core that the generator may use.
    pub fn new(plan: Arc<TestPlan>, workers: u32) -> Self {
        let (sender, inputs) = sync_channel(1024);
        let tables = DescriptorTables::OneForAll;
        Self { plan, workers: workers.max(1), inputs, sender, lingers: false, tables }
    }

    /// Whether each worker gets a file descriptor table of its own, and so room for as many connections as the limit allows one process.
    pub fn with_tables(mut self, tables: DescriptorTables) -> Self {
        self.tables = tables;
        self
    }

    /// When the load has ended as planned, the run goes on (snapshots without load) until [`LoadControl::Release`] or a stop. A stop
    /// by the user then only ends the waiting: the run has completed.
    pub fn lingering(mut self) -> Self {
        self.lingers = true;
        self
    }

    /// By which other threads steer the load.
    pub fn handle(&self) -> LoadHandle {
        LoadHandle::new(self.sender.clone())
    }

    /// Runs the whole load on this and the workers' threads. `make_factory` is called once on each worker's thread; its error ends the
    /// run. `on_event` is called on this thread, and what it returns is carried out.
    pub fn run<C: UserFactory, E>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<C, E> + Send + Sync,
        mut on_event: impl FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> LoadEnding
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Coordinator { plan, workers, inputs, sender, lingers, tables } = self;
        // All of them before any worker begins, see `descriptors`.
        let runtimes = match (0..workers).map(|_| worker::runtime()).collect::<Result<Vec<_>, _>>() {
            Ok(runtimes) => runtimes,
            Err(source) => return LoadEnding::Broke(WorkerError::Runtime { workers, source }),
        };
        std::thread::scope(|scope| {
            let mut to_workers = Vec::new();
            for (index, runtime) in (0..workers).zip(runtimes) {
                let (to_worker, commands) = mpsc::channel(64);
                to_workers.push(to_worker);
                let link = WorkerLink::new(sender.clone());
                let (plan, make_factory) = (&plan, &make_factory);
                let spawned = std::thread::Builder::new().name(format!("worker-{index}")).spawn_scoped(scope, move || {
                    worker::work(plan, WorkerSetup { index, workers, runtime, tables, commands, link }, make_factory);
                });
                if let Err(source) = spawned {
                    return LoadEnding::Broke(WorkerError::Thread { worker: index, source });
                }
            }
            drop(sender);
            ActiveLoad::new(&plan, to_workers, lingers, &mut on_event).run(&inputs)
        })
    }
}

#[cfg(test)]
mod around;
#[cfg(test)]
mod tests;
