//! One leaf of the load tree on one worker: the state its dispatcher and virtual users share, and how an iteration is run and recorded.
//!
//! Read [`ActiveLeaf`] first. Deliberately absent: when iterations start (`open`, `closed`).

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use loadstone_metrics::{LeafChange, Nanos, Outcome, Phases, Sample, SeriesId, SeriesKey, SeriesKind};
use loadstone_plan::{RunRole, ScenarioRun, TestPlan};

use crate::context::WorkerContext;
use crate::control::WorkerError;
use crate::failure::WorkerFailure;
use crate::handover::Handover;
use crate::user::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser};
use crate::wakeup::Wakeup;
use crate::worker_lease::WorkerLease;

/// One leaf on one worker.
pub(crate) struct ActiveLeaf<C: UserFactory> {
    pub(crate) context: WorkerContext,
    pub(crate) factory: Rc<C>,
    pub(crate) worker_lease: Rc<WorkerLease>,
    /// Depth-first number in the load tree.
    pub(crate) number: u32,
    pub(crate) run: ScenarioRun,
    pub(crate) seed: u64,
    pub(crate) begin: Nanos,
    pub(crate) graceful_stop_ns: u64,
    /// [`loadstone_plan::RunOptions::start_window_ns`].
    pub(crate) start_window_ns: u64,
    /// Woken whenever the dispatcher should check the leaf again.
    pub(crate) changed: Wakeup,
    /// No further iteration starts. Running iterations may finish.
    stopping: Cell<bool>,
    pub(crate) load_end: Rc<Cell<Nanos>>,
    load_end_recorded: Cell<bool>,
    /// Running iterations are interrupted.
    pub(crate) halted: Cell<bool>,
    /// Changes of the load's scale that the dispatcher has not yet applied: `(instant, factor)`.
    pub(crate) scales: RefCell<Vec<(Nanos, f64)>>,
    /// An iteration ended with an error that its script did not handle, or a set-up failed.
    pub(crate) threw: Cell<bool>,
    series: SeriesId,
    active: Cell<u64>,
    users_created: Cell<u64>,
    failure: WorkerFailure,
}

impl<C: UserFactory> ActiveLeaf<C> {
    pub(crate) fn new(
        context: WorkerContext,
        factory: Rc<C>,
        (worker_lease, failure): (Rc<WorkerLease>, WorkerFailure),
        plan: &TestPlan,
        number: u32,
        begin: Nanos,
    ) -> Option<Self> {
        let run: ScenarioRun = (*plan.leaves().get(number as usize)?).clone();
        let name: std::sync::Arc<str> = plan.scenarios.get(run.scenario.0 as usize).map_or("?", |scenario| &scenario.name).into();
        let key = SeriesKey { kind: SeriesKind::Iteration, scenario: name.clone(), group: "".into(), name };
        let series = context.recorder.borrow_mut().series(&key);
        Some(Self {
            factory,
            worker_lease,
            number,
            seed: plan.options.seed.wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            begin,
            load_end: Rc::new(Cell::new(run.profile.duration_ns().filter(|ns| *ns > 0).map_or(Nanos::MAX, |ns| begin + ns))),
            graceful_stop_ns: run.graceful_stop_ns.unwrap_or(plan.options.graceful_stop_ns),
            start_window_ns: plan.options.start_window_ns,
            run,
            changed: Wakeup::default(),
            stopping: Cell::new(false),
            load_end_recorded: Cell::new(false),
            halted: Cell::new(false),
            scales: RefCell::default(),
            threw: Cell::new(false),
            series,
            active: Cell::new(0),
            users_created: Cell::new(0),
            failure,
            context,
        })
    }

    pub(crate) fn now(&self) -> Nanos {
        self.context.clock.now()
    }

    /// The leaf is neither a set-up nor a tear-down.
    pub(crate) fn is_load(&self) -> bool {
        self.run.role == RunRole::Load
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Starts no further iteration.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        self.worker_lease.wake_waiting();
        self.load_end.set(self.load_end.get().min(self.now()));
        self.record_load_end();
    }

    /// Records when the load ended, once.
    pub(crate) fn record_load_end(&self) {
        if self.worker_lease.records_for_all() && self.is_load() && !self.load_end_recorded.replace(true) {
            let at = self.load_end.get();
            self.context.recorder.borrow_mut().leaf_changed(self.number, LeafChange::LoadEnded { at });
        }
    }

    /// Multiplies the planned load from an instant on.
    pub(crate) fn scale(&self, at: Nanos, factor: f64) {
        self.scales.borrow_mut().push((at, factor));
        if self.worker_lease.records_for_all() {
            self.context.recorder.borrow_mut().leaf_changed(self.number, LeafChange::Scaled { at, factor });
        }
    }

    pub(crate) fn active(&self) -> u64 {
        self.active.get()
    }

    pub(crate) fn scenario_name(&self) -> std::sync::Arc<str> {
        self.context.recorder.borrow().key(self.series).name.clone()
    }

    /// Creates a user with a unique number. `None`: no user can be created, and the worker is about to end.
    pub(crate) fn new_user(&self) -> Option<C::User> {
        let number = self.users_created.replace(self.users_created.get() + 1);
        let share = self.context.share();
        let user = self.factory.new_user(self.number, self.run.scenario, number * share.of + share.index);
        user.map_err(|error| self.failure.report(WorkerError::Users(error))).ok()
    }

    /// Length of [`ActiveLeaf::handovers`].
    pub(crate) fn handover_count(&self) -> usize {
        self.worker_lease.handover_count(self.is_load())
    }

    /// Handovers to this worker and its peers that concern this leaf.
    pub(crate) fn handovers(&self) -> Vec<Handover> {
        self.worker_lease.handovers(self.is_load())
    }

    /// When the next iteration starts: `now`, or when the worker may start iterations again. `None`: no further iteration starts.
    pub(crate) async fn may_start(&self, now: Nanos) -> Option<Nanos> {
        if self.worker_lease.may_start(now) {
            return Some(now);
        }
        poll_fn(|context| {
            let now = self.now();
            if self.worker_lease.may_start(now) {
                return Poll::Ready(Some(now));
            }
            if self.is_stopping() {
                return Poll::Ready(None);
            }
            self.worker_lease.wait(context);
            Poll::Pending
        })
        .await
    }

    /// Runs one iteration, which starts now, and records it. `due`: the arrival (open load). Returns when the engine noticed the end.
    /// `None`: there was nothing left to do.
    pub(crate) async fn perform(&self, user: &mut C::User, started: Nanos, due: Option<DueArrival>, sequence: u64) -> Option<Nanos> {
        let (scheduled, open) = (due.map_or(started, |due| due.scheduled), due.is_some());
        let waited_for_user = due.is_some_and(|due| due.waited_for_user);
        let arrival = Arrival { scheduled, scenario: self.run.scenario, sequence };
        let mut record = IterationRecord { leaf: self, scheduled, started, end: None };
        record.begin();
        let iteration = Iteration { arrival, leaf: self.number, open, waited_for_user, load_end: Rc::clone(&self.load_end) };
        let end = yielding_once(user.iterate(iteration)).await;
        let now = self.now();
        record.end = Some(RecordedEnd { end, ended: user.ended().unwrap_or(now), now });
        drop(record);
        (end != IterationEnd::Exhausted).then_some(now)
    }

    /// The context of a user's work outside its iterations, before the first or after the last.
    pub(crate) fn outside_iteration(&self) -> Iteration {
        let arrival = Arrival { scheduled: self.now(), scenario: self.run.scenario, sequence: 0 };
        Iteration { arrival, leaf: self.number, open: false, waited_for_user: false, load_end: Rc::clone(&self.load_end) }
    }

    /// Returns when the deadline has passed or the leaf has changed.
    pub(crate) async fn wait_until(&self, deadline: Nanos) {
        let timer = self.context.clock.sleep_until(deadline);
        poll_fn(|context| {
            if self.changed.poll(context).is_ready() || timer.poll_fired(context).is_ready() {
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    fn set_active(&self, at: Nanos, active: u64) {
        self.active.set(active);
        self.context.recorder.borrow_mut().users_active(self.number, at, active);
    }
}

/// An arrival of open load that a user begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueArrival {
    pub(crate) scheduled: Nanos,
    /// [`Iteration::waited_for_user`].
    pub(crate) waited_for_user: bool,
}

/// Counts an iteration from its start to its end, however it ends. An iteration that is dropped without an end counts as interrupted.
struct IterationRecord<'a, C: UserFactory> {
    leaf: &'a ActiveLeaf<C>,
    scheduled: Nanos,
    started: Nanos,
    end: Option<RecordedEnd>,
}

/// How and when an iteration ended, and when the engine noticed. The user was occupied until then.
#[derive(Clone, Copy)]
struct RecordedEnd {
    end: IterationEnd,
    ended: Nanos,
    now: Nanos,
}

impl<C: UserFactory> IterationRecord<'_, C> {
    fn begin(&self) {
        let leaf = self.leaf;
        leaf.set_active(self.started, leaf.active() + 1);
        leaf.context.recorder.borrow_mut().leaf(leaf.number).started += 1;
    }
}

impl<C: UserFactory> Drop for IterationRecord<'_, C> {
    fn drop(&mut self) {
        let leaf = self.leaf;
        let (end, ended, now) = match self.end {
            Some(RecordedEnd { end, ended, now }) => (Some(end), ended, now),
            None => (None, leaf.now(), leaf.now()),
        };
        leaf.set_active(now, leaf.active().saturating_sub(1));
        let mut recorder = leaf.context.recorder.borrow_mut();
        let outcome = match end {
            Some(IterationEnd::Ended(outcome)) => {
                // A set-up fails with any failed iteration: what it prepares may be missing.
                leaf.threw.set(leaf.threw.get() || leaf.run.role == RunRole::SetUp && outcome.is_failure());
                outcome
            }
            Some(IterationEnd::Threw(outcome)) => {
                leaf.threw.set(true);
                outcome
            }
            Some(IterationEnd::Exhausted) => {
                let counts = recorder.leaf(leaf.number);
                counts.ended += 1;
                counts.exhausted = true;
                return;
            }
            None => {
                leaf.threw.set(leaf.threw.get() || leaf.run.role == RunRole::SetUp);
                Outcome::Interrupted
            }
        };
        let counts = recorder.leaf(leaf.number);
        match outcome {
            Outcome::Interrupted => counts.interrupted += 1,
            _ => counts.ended += 1,
        }
        counts.failed += u64::from(outcome.is_failure());
        if !leaf.is_load() {
            return;
        }
        let sample = Sample {
            scheduled: self.scheduled,
            started: self.started,
            ended,
            phases: Phases::default(),
            outcome,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        recorder.record(leaf.series, &sample);
    }
}

/// Awaits an iteration. An iteration that completes without waiting yields once, so that an iteration that does nothing cannot starve the rest of its
/// worker.
async fn yielding_once(iteration: impl Future<Output = IterationEnd>) -> IterationEnd {
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
