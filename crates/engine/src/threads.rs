//! Starts the threads of a process's workers, and creates the channels to and from them.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::Scope;

use loadstone_plan::TestPlan;
use tokio::sync::mpsc;

use crate::context::{WorkerContext, WorkerShare};
use crate::control::WorkerError;
use crate::descriptors::DescriptorTables;
use crate::messages::{CoordinatorInput, WorkerCommand, WorkerLink};
use crate::user::UserFactory;
use crate::worker::{self, WorkerSetup};

/// The settings that all workers of a process share.
pub(crate) struct WorkerThreads {
    pub(crate) plan: Arc<TestPlan>,
    pub(crate) share: WorkerShare,
    pub(crate) tables: DescriptorTables,
}

impl WorkerThreads {
    /// Starts the workers. Their reports go to `sender`; `make_factory` is called once on each thread.
    pub(crate) fn start<'scope, C: UserFactory, E>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        sender: &SyncSender<CoordinatorInput>,
        make_factory: &'scope (impl Fn(&WorkerContext) -> Result<C, E> + Send + Sync),
    ) -> Result<Vec<mpsc::Sender<WorkerCommand>>, WorkerError>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let WorkerShare { first, here, .. } = self.share;
        // All runtimes exist before any worker begins: see `descriptors`.
        let runtimes = (0..here).map(|_| worker::runtime()).collect::<Result<Vec<_>, _>>();
        let runtimes = runtimes.map_err(|source| WorkerError::Runtime { workers: here, source })?;
        let mut to_workers = Vec::new();
        for (number, runtime) in (0..here).zip(runtimes) {
            let index = first + number;
            let (to_worker, commands) = mpsc::channel(64);
            to_workers.push(to_worker);
            let setup = WorkerSetup {
                index,
                share: self.share,
                runtime,
                tables: self.tables,
                commands,
                link: WorkerLink::new(sender.clone(), number as usize),
            };
            let spawned = std::thread::Builder::new().name(format!("worker-{index}")).spawn_scoped(scope, move || {
                worker::work(&self.plan, setup, make_factory);
            });
            spawned.map_err(|source| WorkerError::Thread { worker: index, source })?;
        }
        Ok(to_workers)
    }
}
