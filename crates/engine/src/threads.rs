//! Starts the threads of a process's workers, and creates the channels to and from them.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

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

/// Started workers. Dropping it waits for the threads, except the abandoned ones.
#[derive(Default)]
pub(crate) struct StartedWorkers {
    /// `None`: abandoned.
    threads: Vec<Option<JoinHandle<()>>>,
}

impl StartedWorkers {
    /// Does not wait for a worker that is ready and does not respond. Its thread ends with the process.
    pub(crate) fn abandon(&mut self, worker: usize) {
        if let Some(thread) = self.threads.get_mut(worker) {
            drop(thread.take());
        }
    }
}

impl Drop for StartedWorkers {
    fn drop(&mut self) {
        for thread in self.threads.drain(..).flatten() {
            // A panic was reported by the worker itself.
            let _ = thread.join();
        }
    }
}

impl WorkerThreads {
    /// Starts the workers. Their reports go to `sender`; `make_factory` is called once on each thread.
    ///
    /// The caller may abandon only workers that have reported that they are ready, and drops `started` before `make_factory`.
    pub(crate) fn start<C: UserFactory, E>(
        &self,
        started: &mut StartedWorkers,
        sender: &SyncSender<CoordinatorInput>,
        make_factory: &(impl Fn(&WorkerContext) -> Result<C, E> + Send + Sync),
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
            let plan = Arc::clone(&self.plan);
            let thread = std::thread::Builder::new().name(format!("worker-{index}"));
            // SAFETY: the thread borrows only `make_factory`, and uses it only before it reports that it is ready. Dropping `started`, which the
            // caller does before `make_factory` ends, joins every thread that was not abandoned, and an abandoned one was ready.
            let spawned = unsafe { thread.spawn_unchecked(move || worker::work(&plan, setup, make_factory)) };
            started.threads.push(Some(spawned.map_err(|source| WorkerError::Thread { worker: index, source })?));
        }
        Ok(to_workers)
    }
}
