//! One worker: its leaves, the factory's own work, and a snapshot each second.
//!
//! Read [`work`] first, the body of its thread, then [`carry_out`], which is the same on a real and on a virtual clock. Deliberately absent: when a
//! leaf's iterations start (`open`, `closed`), and which leaf begins next (`active_load`).

use std::any::Any;
use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_metrics::{LeafChange, MarkKind, Nanos, Recorder, late_read_max_ns};
use loadstone_plan::{IterationSplit, LoadProfile, TestPlan};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;

use crate::active_leaf::ActiveLeaf;
use crate::context::{WorkerContext, WorkerShare};
use crate::control::WorkerError;
use crate::descriptors::{self, DescriptorTables};
use crate::event_loop::EventLoop;
use crate::failure::WorkerFailure;
use crate::messages::{LeafShared, WorkerCommand, WorkerLink, WorkerReport};
use crate::snapshots::SnapshotTicker;
use crate::tasks::{Spawner, Tasks};
use crate::turns::Turns;
use crate::user::UserFactory;
use crate::worker_lease::WorkerLease;
use crate::{closed, open, stages};

/// The parameters of a worker's thread.
pub(crate) struct WorkerSetup {
    /// From 0.
    pub(crate) index: u32,
    /// The workers of this process and of the run.
    pub(crate) share: WorkerShare,
    /// From [`runtime`].
    pub(crate) runtime: Runtime,
    pub(crate) tables: DescriptorTables,
    pub(crate) commands: Receiver<WorkerCommand>,
    pub(crate) link: WorkerLink,
}

/// The runtime of a worker.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()
}

/// The body of a worker's thread. `make_factory` creates its factory.
pub(crate) fn work<C: UserFactory, E>(plan: &Arc<TestPlan>, setup: WorkerSetup, make_factory: impl FnOnce(&WorkerContext) -> Result<C, E>)
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (link, worker) = (setup.link.clone(), setup.index);
    // Unwind safe: nothing that the thread owns is used afterwards.
    let ran = catch_unwind(AssertUnwindSafe(|| run(plan, setup, make_factory)));
    let ended = ran.unwrap_or_else(|panic| Err(WorkerError::Panicked { worker, message: message_of(&*panic) }));
    if let Err(error) = ended {
        link.send(WorkerReport::Broke(error));
    }
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

fn run<C: UserFactory, E>(
    plan: &Arc<TestPlan>,
    setup: WorkerSetup,
    make_factory: impl FnOnce(&WorkerContext) -> Result<C, E>,
) -> Result<(), WorkerError>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let WorkerSetup { index: worker, share: WorkerShare { first, of: workers, .. }, runtime, tables, mut commands, link } = setup;
    if tables == DescriptorTables::OneEach {
        descriptors::split_off().map_err(|source| WorkerError::Descriptors { worker, source })?;
    }
    loadstone_platform::threads::request_prompt_wakeups();
    let clock = Clock::real(Monotonic::start());
    let recorder = Rc::new(RefCell::new(Recorder::new(worker, plan.options.series_max)));
    let context = WorkerContext { index: worker, workers, first, clock: clock.clone(), recorder: Rc::clone(&recorder) };
    let _inside = runtime.enter();
    let factory = Rc::new(make_factory(&context).map_err(|error| WorkerError::Users(error.into()))?);
    factory.prepare(plan.load.users_certain().div_ceil(workers.into())).map_err(WorkerError::Users)?;
    link.send(WorkerReport::Ready);
    let Some(WorkerCommand::Start { zero }) = runtime.block_on(commands.recv()) else {
        link.send(WorkerReport::Done);
        return Ok(());
    };
    clock.begin(zero);
    let turns = Turns::default();
    let users = Rc::clone(&factory);
    let work = carry_out(Arc::clone(plan), context, factory, turns.clone(), commands, link);
    let wait_max_ns = late_read_max_ns(plan.options.start_window_ns);
    let reads_wait_max = Box::new(move || users.reads_can_wait().then_some(wait_max_ns));
    let event_loop =
        EventLoop::new(clock, recorder, turns, reads_wait_max, work).map_err(|source| WorkerError::Timer { worker, source })?;
    runtime.block_on(tokio::task::unconstrained(event_loop));
    Ok(())
}

/// Executes the coordinator's commands until the last.
pub(crate) async fn carry_out<C: UserFactory>(
    plan: Arc<TestPlan>,
    context: WorkerContext,
    factory: Rc<C>,
    turns: Turns,
    mut commands: Receiver<WorkerCommand>,
    link: WorkerLink,
) {
    let tasks = Tasks::default();
    let spawner = tasks.spawner();
    spawner.spawn(factory.drive());
    let snapshots = Rc::new(SnapshotTicker::new(context.clone(), Rc::clone(&factory), link.clone()));
    spawner.spawn(Rc::clone(&snapshots).tick());
    let failure = WorkerFailure::default();
    let worker_lease = Rc::new(WorkerLease::of_worker(context.index));
    let lead = async {
        let mut leaves: Vec<Rc<ActiveLeaf<C>>> = Vec::new();
        while let Some(command) = next_command(&mut commands, &failure).await {
            match command {
                WorkerCommand::Start { .. } => {}
                WorkerCommand::Begin { leaf, at, shared } => {
                    let common = (Rc::clone(&worker_lease), failure.clone());
                    if let Some(leaf) = ActiveLeaf::new(context.clone(), Rc::clone(&factory), common, &plan, leaf, at) {
                        let leaf = Rc::new(leaf);
                        leaves.push(Rc::clone(&leaf));
                        begin(&spawner, leaf, shared, turns.clone(), link.clone());
                    }
                }
                WorkerCommand::Stop => each(&leaves, |leaf| leaf.stop()),
                WorkerCommand::Halt => each(&leaves, |leaf| leaf.halted.set(true)),
                WorkerCommand::Scale { at, factor } => each(&leaves, |leaf| leaf.scale(at, factor)),
                WorkerCommand::Lease { until } => {
                    worker_lease.lease(until);
                    each(&leaves, |_| {});
                }
                WorkerCommand::HandOver(handover) => {
                    if worker_lease.hand_over(handover, context.index) {
                        leaves.iter().for_each(|leaf| spawner.spawn(mark_stages(Rc::clone(leaf), context.clock.now())));
                    }
                    each(&leaves, |_| {});
                }
                WorkerCommand::Finish => break,
            }
            worker_lease.wake_waiting();
        }
        each(&leaves, |leaf| leaf.halted.set(true));
    };
    tasks.run_until(lead).await;
    snapshots.finish();
    link.send(failure.take().map_or(WorkerReport::Done, WorkerReport::Broke));
}

/// The coordinator's next command. `None`: there are no more, or the worker cannot continue.
async fn next_command(commands: &mut Receiver<WorkerCommand>, failure: &WorkerFailure) -> Option<WorkerCommand> {
    poll_fn(|context| match failure.poll_reported(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => commands.poll_recv(context),
    })
    .await
}

fn each<C: UserFactory>(leaves: &[Rc<ActiveLeaf<C>>], change: impl Fn(&ActiveLeaf<C>)) {
    for leaf in leaves {
        change(leaf);
        leaf.changed.wake();
    }
}

/// Marks the stages of a leaf as they begin, from an instant on, until the leaf ends.
async fn mark_stages<C: UserFactory>(leaf: Rc<ActiveLeaf<C>>, from: Nanos) {
    let name = leaf.scenario_name();
    for (offset_ns, text) in stages::boundaries(&leaf.run.profile) {
        let at = leaf.begin + offset_ns;
        if at < from {
            continue;
        }
        leaf.context.clock.sleep_until(at).await;
        if leaf.is_stopping() || leaf.halted.get() {
            return;
        }
        leaf.context.recorder.borrow_mut().mark(at, MarkKind::Stage, format!("{name}: {text}"));
    }
    if (from..Nanos::MAX).contains(&leaf.load_end.get()) {
        leaf.context.clock.sleep_until(leaf.load_end.get()).await;
        leaf.record_load_end();
    }
}

fn begin<C: UserFactory>(spawner: &Spawner, leaf: Rc<ActiveLeaf<C>>, shared: Arc<LeafShared>, turns: Turns, link: WorkerLink) {
    if leaf.worker_lease.records_for_all() {
        spawner.spawn(mark_stages(Rc::clone(&leaf), leaf.begin));
    }
    spawner.spawn(async move {
        while leaf.now() < leaf.begin && !leaf.is_stopping() && !leaf.halted.get() {
            leaf.wait_until(leaf.begin).await;
        }
        let is_called_off = leaf.now() < leaf.begin;
        if leaf.worker_lease.records_for_all() && !is_called_off {
            let scenario = leaf.scenario_name();
            let mut recorder = leaf.context.recorder.borrow_mut();
            recorder.mark(leaf.begin, MarkKind::LeafBegan, scenario.to_string());
            if leaf.is_load() {
                recorder.leaf_changed(leaf.number, LeafChange::Began { at: leaf.begin, scenario });
            }
        }
        match leaf.run.profile.clone() {
            _ if is_called_off => {}
            LoadProfile::Open { stages } => open::run(Rc::clone(&leaf), &stages, Arc::clone(&shared.exchange), turns).await,
            LoadProfile::Closed { stages } => closed::run(Rc::clone(&leaf), &stages, shared).await,
            LoadProfile::Iterations { users, count, split, .. } => {
                if split == IterationSplit::PerUser || count > 0 {
                    closed::run_iterations(Rc::clone(&leaf), users, count, split, shared).await;
                }
            }
            // Another tool generates it.
            LoadProfile::Recorded { .. } => {}
        }
        leaf.stop();
        link.send(WorkerReport::LeafEnded { leaf: leaf.number, threw: leaf.threw.get() });
    });
}

#[cfg(test)]
mod tests;
