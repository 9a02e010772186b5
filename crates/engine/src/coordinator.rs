//! Runs the load over the workers of this process, or over the agents of a fleet, and waits until they end.
//!
//! Read [`Coordinator::run`] first. `active_load` handles what happens during the load.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use loadstone_metrics::Nanos;
use loadstone_plan::TestPlan;

use crate::active_load::{ActiveLoad, CommandSink, Pacing};
use crate::agent_messages::AgentCommand;
use crate::context::{WorkerContext, WorkerShare};
use crate::control::{LoadControl, LoadEnding, LoadEvent};
use crate::descriptors::DescriptorTables;
use crate::messages::{CoordinatorInput, LoadHandle};
use crate::threads::{StartedWorkers, WorkerThreads};
use crate::user::UserFactory;

/// A run that is about to start.
pub struct Coordinator {
    plan: Arc<TestPlan>,
    workers: u32,
    inputs: Receiver<CoordinatorInput>,
    sender: SyncSender<CoordinatorInput>,
    lingers: bool,
    tables: DescriptorTables,
}

impl Coordinator {
    /// `workers`: one per core that the generator may use. For a fleet: the workers of all agents together.
    pub fn new(plan: Arc<TestPlan>, workers: u32) -> Self {
        let (sender, inputs) = sync_channel(1024);
        let tables = DescriptorTables::OneForAll;
        Self { plan, workers: workers.max(1), inputs, sender, lingers: false, tables }
    }

    /// Sets whether each worker gets a separate file descriptor table. Each table has room for as many connections as the limit allows one process.
    pub fn with_tables(mut self, tables: DescriptorTables) -> Self {
        self.tables = tables;
        self
    }

    /// Lets the run continue after the planned load (snapshots without load) until [`LoadControl::Release`] or a stop. A stop by the user then only
    /// ends the waiting: the run has completed.
    pub fn lingering(mut self) -> Self {
        self.lingers = true;
        self
    }

    /// A handle with which other threads control the load.
    pub fn handle(&self) -> LoadHandle {
        LoadHandle::new(self.sender.clone())
    }

    /// For load that another program generates: only receives the controls.
    pub fn into_controls(self) -> LoadControls {
        let Coordinator { inputs, sender, .. } = self;
        LoadControls { inputs, _sender: sender }
    }

    /// Runs the whole load on this thread and those of the workers. `make_factory` is called once on each worker's thread; its error ends the run.
    /// `on_event` is called on this thread, and the control it returns is applied.
    pub fn run<C: UserFactory, E>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<C, E> + Send + Sync,
        mut on_event: impl FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> LoadEnding
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Coordinator { plan, workers, inputs, sender, lingers, tables } = self;
        let threads = WorkerThreads { plan: Arc::clone(&plan), share: WorkerShare::whole(workers), tables };
        let mut started = StartedWorkers::default();
        let to_workers = match threads.start(&mut started, &sender, &make_factory) {
            Ok(to_workers) => to_workers,
            Err(error) => {
                drop((inputs, sender));
                return LoadEnding::Broke(error);
            }
        };
        drop(sender);
        let senders = to_workers.into_iter().map(CommandSink::Worker).collect();
        let (ending, abandoned) = ActiveLoad::new(&plan, senders, Pacing::for_threads(), lingers, &mut on_event).run(&inputs);
        abandoned.into_iter().for_each(|worker| started.abandon(worker));
        // A worker that continues after all must not wait for its reports to be read.
        drop(inputs);
        drop(started);
        ending
    }

    /// Runs the whole load on agents. Each agent is commanded through its own function, and reports with [`LoadHandle::report`](crate::LoadHandle).
    /// Everything is called on this thread. `lead_ns`: time between a command and the instant at which it takes effect.
    pub fn run_agents(
        self,
        agents: Vec<Box<dyn Fn(AgentCommand)>>,
        lead_ns: Nanos,
        mut on_event: impl FnMut(LoadEvent) -> Option<LoadControl>,
    ) -> LoadEnding {
        let Coordinator { plan, inputs, sender, lingers, .. } = self;
        drop(sender);
        let senders = agents.into_iter().map(CommandSink::Agent).collect();
        ActiveLoad::new(&plan, senders, Pacing::of_agents(lead_ns), lingers, &mut on_event).run(&inputs).0
    }
}

/// The controls that other threads send to a run, for load that another program generates.
#[derive(Debug)]
pub struct LoadControls {
    inputs: Receiver<CoordinatorInput>,
    /// Keeps the channel open when every handle is gone.
    _sender: SyncSender<CoordinatorInput>,
}

impl LoadControls {
    /// Waits for the next control, for at most this time.
    pub fn next(&self, timeout: Duration) -> Option<LoadControl> {
        match self.inputs.recv_timeout(timeout) {
            Ok(CoordinatorInput::Control(control)) => Some(control),
            _ => None,
        }
    }
}

#[cfg(test)]
mod set_ups;
#[cfg(test)]
mod tests;
