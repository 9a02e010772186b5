//! Walks the load tree, tells the workers what begins when, and merges what they measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use metrics::clock::Monotonic;
use metrics::{Mark, MarkKind, Nanos, Snapshot};
use plan::TestPlan;
use tokio::sync::mpsc;

use crate::floor::WorkerContext;
use crate::names::Names;
use crate::tree::Tree;
use crate::user::UserFactory;
use crate::worker::{self, Command, Line, Place, Report, SLICE_NS, work};

/// Time between telling the workers and the instant at which a leaf begins, so that all begin together.
const LEAD_NS: Nanos = 2_000_000;
/// A slice is handed on without a worker's part when that part is this late.
const LATE_NS: Nanos = 3 * SLICE_NS;

/// What someone asks of a run while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// No more iterations; the running ones may finish.
    Stop(StopReason),
    /// End now; running iterations are interrupted.
    Halt(StopReason),
    /// Multiply the planned load; 0 pauses it.
    Scale(f64),
    /// Nothing is waited for any more after the load, see [`Coordinator::lingering`].
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked for it.
    User,
    /// A threshold with abort failed; its label.
    Threshold(String),
    /// Something outside the load broke (disk full, …).
    Failure(String),
}

/// What happens in a run, in order.
#[derive(Debug)]
pub enum Event {
    /// A leaf begins at this instant.
    LeafBegan {
        leaf: u32,
        at: Nanos,
    },
    LeafEnded {
        leaf: u32,
        at: Nanos,
    },
    /// All load has ended as planned, and the run goes on until [`Control::Release`]; only where the coordinator lingers.
    LoadEnded {
        at: Nanos,
    },
    /// One second of all workers together.
    Slice(Box<Snapshot>),
    /// The last one.
    LastSlice(Box<Snapshot>),
}

/// How the load came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Stopped(StopReason),
    /// A worker could not start or broke.
    Broke(String),
}

pub(crate) enum Input {
    Report(u32, Report),
    Control(Control),
}

/// A handle by which other threads steer a run.
#[derive(Clone)]
pub struct Controller {
    inputs: SyncSender<Input>,
}

impl Controller {
    /// Ignored once the run has ended.
    pub fn send(&self, control: Control) {
        let _ = self.inputs.send(Input::Control(control));
    }
}

/// A run about to start.
pub struct Coordinator {
    plan: Arc<TestPlan>,
    workers: u32,
    monotonic: Monotonic,
    inputs: Receiver<Input>,
    sender: SyncSender<Input>,
    lingers: bool,
    tables: Tables,
}

/// Whose descriptors the workers open: one limit on open files for all, or one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tables {
    #[default]
    OneForAll,
    OneEach,
}

impl Coordinator {
    /// `workers`: one per core that the generator may use.
    pub fn new(plan: Arc<TestPlan>, workers: u32, monotonic: Monotonic) -> Self {
        let (sender, inputs) = sync_channel(1024);
        Self { plan, workers: workers.max(1), monotonic, inputs, sender, lingers: false, tables: Tables::OneForAll }
    }

    /// Whether each worker gets a table of descriptors of its own, and so room for as many connections as the limit allows one process.
    pub fn with_tables(mut self, tables: Tables) -> Self {
        self.tables = tables;
        self
    }

    /// When the load has ended as planned, the run goes on (slices without load) until [`Control::Release`] or a stop. A stop by the
    /// user then only ends the waiting: the run has completed.
    pub fn lingering(mut self) -> Self {
        self.lingers = true;
        self
    }

    pub fn controller(&self) -> Controller {
        Controller { inputs: self.sender.clone() }
    }

    /// Runs the whole load on this and the workers' threads. `make_factory` is called once on each worker's thread; `on_event` on
    /// this one, and what it returns is carried out.
    pub fn run<C: UserFactory>(
        self,
        make_factory: impl Fn(&WorkerContext) -> Result<C, String> + Send + Sync,
        mut on_event: impl FnMut(Event) -> Option<Control>,
    ) -> Ending {
        let Coordinator { plan, workers, monotonic, inputs, sender, lingers, tables } = self;
        // All of them before any worker begins, see `descriptors`.
        let runtimes = match (0..workers).map(|_| worker::runtime()).collect::<Result<Vec<_>, _>>() {
            Ok(runtimes) => runtimes,
            Err(error) => return Ending::Broke(format!("the {workers} workers could not start: {error}")),
        };
        std::thread::scope(|scope| {
            let mut commands = Vec::new();
            for (worker, runtime) in (0..workers).zip(runtimes) {
                let (to_worker, from_conductor) = mpsc::channel(64);
                commands.push(to_worker);
                let line = Line { worker, reports: sender.clone() };
                let (plan, make_factory) = (&plan, &make_factory);
                let spawned = std::thread::Builder::new().name(format!("worker-{worker}")).spawn_scoped(scope, move || {
                    let _last_word = LastWord { line: Line { worker, reports: line.reports.clone() } };
                    let place = Place { index: worker, workers, runtime, tables };
                    work(plan, place, monotonic, make_factory, from_conductor, line);
                });
                if let Err(error) = spawned {
                    return Ending::Broke(format!("worker {worker} could not start: {error}"));
                }
            }
            drop(sender);
            let mut show = Show::new(&plan, monotonic, commands, &mut on_event);
            show.lingers = lingers;
            show.begin();
            show.listen(&inputs);
            show.ending()
        })
    }
}

/// Tells the coordinator when a worker's thread unwinds.
struct LastWord {
    line: Line,
}

impl Drop for LastWord {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.line.send(Report::Broke(format!("worker {} broke: this is a bug in Loadstone", self.line.worker)));
        }
    }
}

/// A run under way.
struct Show<'a> {
    tree: Tree,
    monotonic: Monotonic,
    commands: Vec<mpsc::Sender<Command>>,
    on_event: &'a mut dyn FnMut(Event) -> Option<Control>,
    /// Per slice: what has come so far, and from how many workers.
    slices: BTreeMap<u32, (Snapshot, usize)>,
    names: Names,
    /// Per leaf: workers that have not yet ended it.
    running: BTreeMap<u32, usize>,
    done: usize,
    finishing: bool,
    /// The run is to go on after its load.
    lingers: bool,
    /// It does so now.
    lingering: bool,
    reason: Option<StopReason>,
    broke: Option<String>,
}

impl<'a> Show<'a> {
    fn new(
        plan: &TestPlan,
        monotonic: Monotonic,
        commands: Vec<mpsc::Sender<Command>>,
        on_event: &'a mut dyn FnMut(Event) -> Option<Control>,
    ) -> Self {
        Self {
            tree: Tree::new(&plan.load),
            monotonic,
            commands,
            on_event,
            slices: BTreeMap::new(),
            names: Names::new(plan.options.series_max),
            running: BTreeMap::new(),
            done: 0,
            finishing: false,
            lingers: false,
            lingering: false,
            reason: None,
            broke: None,
        }
    }

    fn ending(self) -> Ending {
        match (self.broke, self.reason) {
            (Some(problem), _) => Ending::Broke(problem),
            (None, Some(reason)) => Ending::Stopped(reason),
            (None, None) => Ending::Completed,
        }
    }

    fn tell(&self, command: &Command) {
        for worker in &self.commands {
            // A worker that is gone has said so, or will.
            let _ = worker.blocking_send(command.clone());
        }
    }

    fn event(&mut self, event: Event) {
        if let Some(control) = (self.on_event)(event) {
            self.control(control);
        }
    }

    fn begin(&mut self) {
        let leaves = self.tree.begin();
        self.begin_leaves(leaves);
    }

    fn begin_leaves(&mut self, leaves: Vec<u32>) {
        let at = self.monotonic.now() + LEAD_NS;
        for leaf in leaves {
            self.running.insert(leaf, self.commands.len());
            self.tell(&Command::Begin { leaf, at, numbers: Arc::default() });
            self.event(Event::LeafBegan { leaf, at });
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
            self.event(Event::LoadEnded { at });
        } else {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if !self.finishing {
            self.finishing = true;
            self.tell(&Command::Finish);
        }
    }

    fn listen(&mut self, inputs: &Receiver<Input>) {
        while self.done < self.commands.len() {
            match inputs.recv_timeout(Duration::from_millis(500)) {
                Ok(Input::Report(worker, report)) => self.report(worker, report),
                Ok(Input::Control(control)) => self.control(control),
                Err(RecvTimeoutError::Timeout) => self.hand_on_late(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut rest = std::mem::take(&mut self.slices).into_values();
        while let Some((snapshot, _)) = rest.next() {
            let snapshot = self.bounded(snapshot);
            self.event(if rest.len() == 0 { Event::LastSlice(snapshot) } else { Event::Slice(snapshot) });
        }
    }

    fn report(&mut self, _worker: u32, report: Report) {
        match report {
            Report::Slice(snapshot) => self.slice(*snapshot),
            Report::LeafEnded(leaf) => self.leaf_ended(leaf),
            Report::Done => self.done += 1,
            Report::Broke(problem) => {
                self.done += 1;
                self.broke.get_or_insert(problem);
                self.running.clear();
                self.tree.stop();
                self.finish();
            }
        }
    }

    fn slice(&mut self, snapshot: Snapshot) {
        let number = snapshot.slice;
        match self.slices.get_mut(&number) {
            Some((merged, workers)) => {
                merged.merge(snapshot);
                *workers += 1;
            }
            None => {
                self.slices.insert(number, (snapshot, 1));
            }
        }
        // Once the end is near, the last slice is to be known as such.
        while let Some(entry) = self.slices.first_entry() {
            if entry.get().1 < self.commands.len() || self.finishing {
                break;
            }
            let (snapshot, _) = entry.remove();
            self.hand_on(snapshot);
        }
    }

    fn hand_on(&mut self, snapshot: Snapshot) {
        let snapshot = self.bounded(snapshot);
        self.event(Event::Slice(snapshot));
    }

    /// As small as it goes, and with no more names than the run keeps apart.
    fn bounded(&mut self, mut snapshot: Snapshot) -> Box<Snapshot> {
        self.names.hold(&mut snapshot);
        snapshot.pack();
        Box::new(snapshot)
    }

    /// Hands on slices for which a worker's part is overdue, so that one stuck worker does not blind the others.
    fn hand_on_late(&mut self) {
        let now = self.monotonic.now();
        while let Some(entry) = self.slices.first_entry() {
            if entry.get().0.end + LATE_NS > now {
                break;
            }
            let (mut snapshot, workers) = entry.remove();
            let text = format!("{} of {} workers were silent for this second", self.commands.len() - workers, self.commands.len());
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Warning, text });
            self.hand_on(snapshot);
        }
    }

    fn leaf_ended(&mut self, leaf: u32) {
        let Some(left) = self.running.get_mut(&leaf) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.running.remove(&leaf);
        let at = self.monotonic.now();
        self.event(Event::LeafEnded { leaf, at });
        let next = self.tree.ended(leaf);
        self.begin_leaves(next);
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Release => {
                if self.lingering {
                    self.finish();
                }
            }
            Control::Stop(reason) | Control::Halt(reason) if self.lingering => {
                if reason != StopReason::User && !self.finishing {
                    self.reason.get_or_insert(reason);
                }
                self.finish();
            }
            Control::Stop(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&Command::Stop);
            }
            Control::Halt(reason) => {
                self.reason.get_or_insert(reason);
                self.tree.stop();
                self.tell(&Command::Stop);
                self.tell(&Command::Halt);
            }
            Control::Scale(factor) => {
                let at = self.monotonic.now() + LEAD_NS;
                self.tell(&Command::Scale { at, factor });
            }
        }
    }
}
