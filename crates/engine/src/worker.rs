//! One worker: the leaves given to it, its factory's own work, and a snapshot each second.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{SyncSender, TrySendError};

use metrics::clock::{Clock, Monotonic};
use metrics::{MarkKind, Nanos, Recorder, Snapshot};
use plan::{IterationSplit, LoadProfile, TestPlan};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;

use crate::coordinator::Tables;
use crate::floor::{Floor, WorkerContext};
use crate::host::HostMeter;
use crate::tasks::{Spawner, Tasks};
use crate::turns::Turns;
use crate::user::UserFactory;
use crate::{closed, descriptors, open, promptness, stages};

/// Length of a slice.
pub(crate) const SLICE_NS: Nanos = 1_000_000_000;
/// Snapshots kept back while the coordinator is busy; older ones are then merged.
const BACKLOG_MAX: usize = 60;

/// What the coordinator tells a worker.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// Start a leaf at an instant. `numbers` has the number of its next iteration in closed load, for all workers.
    Begin { leaf: u32, at: Nanos, numbers: Arc<AtomicU64> },
    /// Start no more iterations; let the running ones finish within their graceful stop.
    Stop,
    /// Interrupt all iterations.
    Halt,
    /// Scale the load relative to the plan, from an instant on.
    Scale { at: Nanos, factor: f64 },
    /// Hand over what is left and end.
    Finish,
}

/// What a worker tells the coordinator.
#[derive(Debug)]
pub(crate) enum Report {
    Slice(Box<Snapshot>),
    LeafEnded(u32),
    /// The worker's last word; its last snapshot came before.
    Done,
    /// The worker could not go on.
    Broke(String),
}

/// A worker's way to the coordinator.
pub(crate) struct Line {
    pub(crate) worker: u32,
    pub(crate) reports: SyncSender<crate::coordinator::Input>,
}

impl Line {
    pub(crate) fn send(&self, report: Report) {
        // The coordinator outlives its workers; if it is gone, there is nobody to tell.
        let _ = self.reports.send(crate::coordinator::Input::Report(self.worker, report));
    }

    fn try_send(&self, snapshot: Box<Snapshot>) -> Result<(), Box<Snapshot>> {
        match self.reports.try_send(crate::coordinator::Input::Report(self.worker, Report::Slice(snapshot))) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(input) | TrySendError::Disconnected(input)) => match input {
                crate::coordinator::Input::Report(_, Report::Slice(snapshot)) => Err(snapshot),
                _ => Ok(()),
            },
        }
    }
}

/// A worker's place among the others.
pub(crate) struct Place {
    pub(crate) index: u32,
    pub(crate) workers: u32,
    /// From [`runtime`].
    pub(crate) runtime: Runtime,
    pub(crate) tables: Tables,
}

/// What a worker runs on.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()
}

/// The body of a worker's thread. `make_factory` makes its factory.
pub(crate) fn work<C: UserFactory>(
    plan: &Arc<TestPlan>,
    Place { index, workers, runtime, tables }: Place,
    monotonic: Monotonic,
    make_factory: impl FnOnce(&WorkerContext) -> Result<C, String>,
    commands: Receiver<Command>,
    line: Line,
) {
    if tables == Tables::OneEach
        && let Err(error) = descriptors::split_off()
    {
        return line.send(Report::Broke(format!("worker {index} got no table of descriptors of its own: {error}")));
    }
    promptness::ask();
    let clock = Clock::real(monotonic);
    let recorder = Rc::new(RefCell::new(Recorder::new(index, plan.options.series_max)));
    let context = WorkerContext { index, workers, clock: clock.clone(), recorder: Rc::clone(&recorder) };
    let _inside = runtime.enter();
    let factory = match make_factory(&context) {
        Ok(factory) => Rc::new(factory),
        Err(problem) => return line.send(Report::Broke(problem)),
    };
    let line = Rc::new(line);
    let body = attend(Arc::clone(plan), context, factory, commands, Rc::clone(&line));
    match Turns::new(clock, recorder, body) {
        Ok(turns) => runtime.block_on(tokio::task::unconstrained(turns)),
        Err(error) => line.send(Report::Broke(format!("worker {index} has no timer: {error}"))),
    }
}

/// Carries out commands until the last.
pub(crate) async fn attend<C: UserFactory>(
    plan: Arc<TestPlan>,
    context: WorkerContext,
    factory: Rc<C>,
    mut commands: Receiver<Command>,
    line: Rc<Line>,
) {
    let tasks = Tasks::default();
    let spawner = tasks.spawner();
    spawner.spawn(factory.drive());
    let slicer = Rc::new(Slicer::new(context.clone(), Rc::clone(&factory), Rc::clone(&line)));
    spawner.spawn(Rc::clone(&slicer).tick());
    let lead = async {
        let mut floors: Vec<Rc<Floor<C>>> = Vec::new();
        while let Some(command) = commands.recv().await {
            match command {
                Command::Begin { leaf, at, numbers } => {
                    if let Some(run) = plan.load.leaves().get(leaf as usize) {
                        let floor = Rc::new(Floor::new(context.clone(), Rc::clone(&factory), &plan, leaf, (*run).clone(), at));
                        floors.push(Rc::clone(&floor));
                        begin(&spawner, floor, numbers, Rc::clone(&line));
                    }
                }
                Command::Stop => each(&floors, |floor| floor.stop()),
                Command::Halt => each(&floors, |floor| floor.halted.set(true)),
                Command::Scale { at, factor } => each(&floors, |floor| floor.scales.borrow_mut().push((at, factor))),
                Command::Finish => break,
            }
        }
        each(&floors, |floor| floor.halted.set(true));
    };
    tasks.beside(lead).await;
    slicer.finish();
    line.send(Report::Done);
}

fn each<C: UserFactory>(floors: &[Rc<Floor<C>>], change: impl Fn(&Floor<C>)) {
    for floor in floors {
        change(floor);
        floor.changed.ring();
    }
}

/// Marks the stages of a leaf as they begin, for as long as it goes on.
async fn mark_stages<C: UserFactory>(floor: Rc<Floor<C>>) {
    let name = floor.scenario_name();
    for (offset_ns, text) in stages::boundaries(&floor.run.profile) {
        let at = floor.begin + offset_ns;
        floor.context.clock.sleep_until(at).await;
        if floor.is_stopping() || floor.halted.get() {
            return;
        }
        floor.context.recorder.borrow_mut().mark(at, MarkKind::Stage, format!("{name}: {text}"));
    }
}

fn begin<C: UserFactory>(spawner: &Spawner, floor: Rc<Floor<C>>, numbers: Arc<AtomicU64>, line: Rc<Line>) {
    if floor.context.index == 0 {
        spawner.spawn(mark_stages(Rc::clone(&floor)));
    }
    spawner.spawn(async move {
        floor.context.clock.sleep_until(floor.begin).await;
        if floor.context.index == 0 {
            let text = floor.scenario_name().to_string();
            floor.context.recorder.borrow_mut().mark(floor.begin, MarkKind::LeafBegan, text);
        }
        match floor.run.profile.clone() {
            LoadProfile::Open { stages } => open::run(Rc::clone(&floor), &stages).await,
            LoadProfile::Closed { stages } => closed::run(Rc::clone(&floor), &stages, numbers).await,
            LoadProfile::Iterations { users, count, split, .. } => {
                if split == IterationSplit::PerUser || count > 0 {
                    closed::run_iterations(Rc::clone(&floor), users, count, split, numbers).await;
                }
            }
        }
        line.send(Report::LeafEnded(floor.leaf));
    });
}

/// Drains the recorder at the end of each second.
struct Slicer<C> {
    context: WorkerContext,
    factory: Rc<C>,
    line: Rc<Line>,
    meter: RefCell<HostMeter>,
    next: RefCell<(u32, Nanos)>,
    backlog: RefCell<VecDeque<Box<Snapshot>>>,
}

impl<C: UserFactory> Slicer<C> {
    fn new(context: WorkerContext, factory: Rc<C>, line: Rc<Line>) -> Self {
        let meter = HostMeter::start(context.index == 0, context.clock.now());
        Self { context, factory, line, meter: RefCell::new(meter), next: RefCell::new((0, 0)), backlog: RefCell::default() }
    }

    async fn tick(self: Rc<Self>) {
        loop {
            let (slice, _) = *self.next.borrow();
            let end = Nanos::from(slice + 1) * SLICE_NS;
            self.context.clock.sleep_until(end).await;
            self.cut();
        }
    }

    /// Ends the present slice now. A worker that overslept whole slices has them in one, under the last's number.
    fn cut(&self) {
        let now = self.context.clock.now();
        let (first, start) = *self.next.borrow();
        let slice = first.max((now / SLICE_NS).saturating_sub(1) as u32);
        let end = (Nanos::from(slice + 1) * SLICE_NS).min(now);
        *self.next.borrow_mut() = (slice + 1, end);
        let snapshot = {
            let mut recorder = self.context.recorder.borrow_mut();
            self.meter.borrow_mut().read_into(recorder.generator(), now);
            self.factory.count_into(recorder.generator());
            recorder.drain(slice, start, end)
        };
        let mut backlog = self.backlog.borrow_mut();
        backlog.push_back(Box::new(snapshot));
        while let Some(oldest) = backlog.pop_front() {
            if let Err(kept) = self.line.try_send(oldest) {
                backlog.push_front(kept);
                break;
            }
        }
        if backlog.len() > BACKLOG_MAX
            && let Some(oldest) = backlog.pop_front()
            && let Some(next) = backlog.front_mut()
        {
            next.merge(*oldest);
        }
    }

    /// The last, shorter slice, and all that was kept back.
    fn finish(&self) {
        self.cut();
        for snapshot in self.backlog.borrow_mut().drain(..) {
            self.line.send(Report::Slice(snapshot));
        }
    }
}

#[cfg(test)]
mod tests;
