//! Where the users of one leaf work: what its dispatcher and its users share on one worker.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use metrics::clock::Clock;
use metrics::{Nanos, Outcome, Phases, Recorder, Sample, SeriesId, SeriesKey, SeriesKind};
use plan::{ScenarioRun, TestPlan};

use crate::arrivals::Share;
use crate::tasks::Bell;
use crate::user::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser};

/// What every leaf of one worker has at hand.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    pub index: u32,
    pub workers: u32,
    pub clock: Clock,
    pub recorder: Rc<RefCell<Recorder>>,
}

impl WorkerContext {
    pub(crate) fn share(&self) -> Share {
        Share { index: u64::from(self.index), of: u64::from(self.workers) }
    }
}

/// One leaf on one worker.
pub(crate) struct Floor<C: UserFactory> {
    pub(crate) context: WorkerContext,
    pub(crate) factory: Rc<C>,
    pub(crate) leaf: u32,
    pub(crate) run: ScenarioRun,
    pub(crate) seed: u64,
    pub(crate) begin: Nanos,
    pub(crate) graceful_stop_ns: u64,
    /// Rung whenever the dispatcher should look again.
    pub(crate) changed: Bell,
    /// No iteration starts any more; running ones may finish.
    stopping: Cell<bool>,
    pub(crate) load_end: Rc<Cell<Nanos>>,
    /// Running iterations are interrupted.
    pub(crate) halted: Cell<bool>,
    /// Changes of the load's scale that the dispatcher has not yet taken: `(instant, factor)`.
    pub(crate) scales: RefCell<Vec<(Nanos, f64)>>,
    series: SeriesId,
    active: Cell<u64>,
    users_made: Cell<u64>,
}

impl<C: UserFactory> Floor<C> {
    pub(crate) fn new(context: WorkerContext, factory: Rc<C>, plan: &TestPlan, leaf: u32, run: ScenarioRun, begin: Nanos) -> Self {
        let name: std::sync::Arc<str> = plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| &scenario.name).into();
        let key = SeriesKey { kind: SeriesKind::Iteration, scenario: name.clone(), group: "".into(), name };
        let series = context.recorder.borrow_mut().series(&key);
        Self {
            factory,
            leaf,
            seed: plan.options.seed.wrapping_add(u64::from(leaf).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            begin,
            load_end: Rc::new(Cell::new(run.profile.duration_ns().filter(|ns| *ns > 0).map_or(Nanos::MAX, |ns| begin + ns))),
            graceful_stop_ns: run.graceful_stop_ns.unwrap_or(plan.options.graceful_stop_ns),
            run,
            changed: Bell::default(),
            stopping: Cell::new(false),
            halted: Cell::new(false),
            scales: RefCell::default(),
            series,
            active: Cell::new(0),
            users_made: Cell::new(0),
            context,
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.context.clock.now()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Starts no more iterations from now on.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        self.load_end.set(self.load_end.get().min(self.now()));
    }

    pub(crate) fn active(&self) -> u64 {
        self.active.get()
    }

    pub(crate) fn scenario_name(&self) -> std::sync::Arc<str> {
        self.context.recorder.borrow().key(self.series).name.clone()
    }

    /// A new user with a number of its own.
    pub(crate) fn new_user(&self) -> C::User {
        let number = self.users_made.replace(self.users_made.get() + 1);
        let share = self.context.share();
        self.factory.new_user(self.leaf, self.run.scenario, number * share.of + share.index)
    }

    /// Runs one iteration, which starts now, and records it. `due`: when an arrival of open load was due. Returns when it ended; `None`:
    /// there was nothing left to do.
    pub(crate) async fn perform(&self, user: &mut C::User, started: Nanos, due: Option<Nanos>, sequence: u64) -> Option<Nanos> {
        let (scheduled, open) = (due.unwrap_or(started), due.is_some());
        let arrival = Arrival { scheduled, scenario: self.run.scenario, sequence };
        let mut record = IterationRecord { floor: self, scheduled, started, end: None };
        record.begin();
        let end = giving_way(user.iterate(Iteration { arrival, leaf: self.leaf, open, load_end: Rc::clone(&self.load_end) })).await;
        let ended = self.now();
        record.end = Some((end, ended));
        drop(record);
        (end != IterationEnd::Exhausted).then_some(ended)
    }

    fn set_active(&self, at: Nanos, active: u64) {
        self.active.set(active);
        self.context.recorder.borrow_mut().users_active(self.leaf, at, active);
    }
}

/// Counts an iteration from its start to its end, however it ends; being dropped without an end is an interruption.
struct IterationRecord<'a, C: UserFactory> {
    floor: &'a Floor<C>,
    scheduled: Nanos,
    started: Nanos,
    end: Option<(IterationEnd, Nanos)>,
}

impl<C: UserFactory> IterationRecord<'_, C> {
    fn begin(&self) {
        let floor = self.floor;
        floor.set_active(self.started, floor.active() + 1);
        floor.context.recorder.borrow_mut().leaf(floor.leaf).started += 1;
    }
}

impl<C: UserFactory> Drop for IterationRecord<'_, C> {
    fn drop(&mut self) {
        let floor = self.floor;
        let (end, ended) = self.end.map_or_else(|| (None, floor.now()), |(end, at)| (Some(end), at));
        floor.set_active(ended, floor.active().saturating_sub(1));
        let mut recorder = floor.context.recorder.borrow_mut();
        let outcome = match end {
            Some(IterationEnd::Ended(outcome)) => outcome,
            Some(IterationEnd::Exhausted) => {
                let counts = recorder.leaf(floor.leaf);
                counts.ended += 1;
                counts.exhausted = true;
                return;
            }
            None => Outcome::Interrupted,
        };
        let counts = recorder.leaf(floor.leaf);
        match outcome {
            Outcome::Interrupted => counts.interrupted += 1,
            _ => counts.ended += 1,
        }
        counts.failed += u64::from(outcome.is_failure());
        let sample = Sample {
            scheduled: self.scheduled,
            started: self.started,
            ended,
            phases: Phases::default(),
            outcome,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            trace: None,
        };
        recorder.record(floor.series, &sample);
    }
}

/// Awaits an iteration; one that completes without ever waiting gives way once, so that an iteration that does nothing
/// cannot keep its worker from all else.
async fn giving_way(iteration: impl Future<Output = IterationEnd>) -> IterationEnd {
    let mut iteration = std::pin::pin!(iteration);
    let mut waited = false;
    let end = poll_fn(|context| {
        let polled = iteration.as_mut().poll(context);
        waited |= polled.is_pending();
        polled
    })
    .await;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(end);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
