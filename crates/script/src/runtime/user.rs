//! State of one user that outlives a single call: its iteration, its groups, its operations in progress.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use futures_util::FutureExt;
use futures_util::future::join_all;
use loadstone_engine::{Iteration, IterationEnd};
use loadstone_metrics::{Nanos, Outcome, SeriesId, SeriesKind, Tags};
use loadstone_protocol::Network;
use rquickjs::{Ctx, Exception, Value};

use super::group::{Group, GroupEnd};
use super::operation::{Background, Operation, OperationSlot};
use super::owner::{Cancel, Owner, PendingCall};
use super::parts::{KeptState, UserPart, UserParts};
use super::pausing::Pausing;
use super::realm::RealmState;
use super::scenario::ScenarioState;
use super::worker::WorkerState;
use crate::data::bindings::RandomHandle;
use crate::data::draws::DrawStream;
use crate::error::ScriptError;
use crate::realm::{AwaitsPromise, describe, name_of};

/// Number of stored operations of one user at which those that have ended are removed.
const OPERATIONS_SWEPT_AT: usize = 8;

/// A function that runs until it waits for an operation.
pub(crate) trait Resumable {
    /// Continues it with the operation's result.
    ///
    /// # Errors
    /// The realm failed. What the function throws ends its iteration.
    fn resume<'js>(&self, ctx: &Ctx<'js>, result: rquickjs::Result<Value<'js>>) -> rquickjs::Result<()>;
}

/// Contains no JavaScript values: objects of the realm hold it, and a cycle through the engine would never be freed.
pub(crate) struct UserState {
    pub(crate) worker: Rc<WorkerState>,
    pub(crate) scenario: Rc<ScenarioState>,
    pub(crate) number: u64,
    pub(crate) random: RandomHandle,
    /// Weak: the realm's objects hold this.
    realm: Weak<RealmState>,
    leaf: u32,
    iteration: RefCell<Option<Iteration>>,
    /// Counts the iterations, so that steps of an earlier one can be recognised.
    epoch: Cell<u32>,
    /// When the first request of this iteration was due, without pauses. That request takes it.
    due: Cell<Option<Nanos>>,
    pausing: Cell<Pausing>,
    /// `Passed`, or the first reason for the iteration's failure.
    outcome: Cell<Outcome>,
    /// Its code threw an uncaught error.
    threw: Cell<bool>,
    /// Steps that the script can await and that have not ended.
    steps: Cell<u32>,
    /// The scenario's function has returned while steps were in progress.
    leaving: Cell<Option<PendingEnd>>,
    /// Its present steps are counted and timed.
    measures: Cell<bool>,
    /// Why the generator refused to send the step that has just been recorded. Its promise takes it.
    refusal: Cell<Option<Box<str>>>,
    /// The script declared the iteration failed.
    declared_failed: Cell<bool>,
    end: Cell<Option<IterationEnd>>,
    waker: RefCell<Option<Waker>>,
    operations: RefCell<Vec<Weak<dyn Cancel>>>,
    /// Runs the iteration's function, if that is resumed with results.
    resumable: RefCell<Option<Weak<dyn Resumable>>>,
    /// That function waits for an operation.
    is_suspended: Cell<bool>,
    groups: RefCell<Vec<Rc<Group>>>,
    parts: UserParts,
}

impl UserState {
    pub(crate) fn new(worker: Rc<WorkerState>, scenario: Rc<ScenarioState>, realm: Weak<RealmState>, leaf: u32, number: u64) -> Self {
        let first = DrawStream::Iteration { leaf, user: number, iteration: 0 };
        let random = RandomHandle::new(worker.loaded.plan.options.seed, first);
        let measures = Cell::new(scenario.measured);
        Self {
            worker,
            scenario,
            measures,
            number,
            random,
            realm,
            leaf,
            iteration: RefCell::default(),
            epoch: Cell::default(),
            due: Cell::default(),
            pausing: Cell::default(),
            outcome: Cell::new(Outcome::Passed),
            threw: Cell::default(),
            steps: Cell::default(),
            leaving: Cell::default(),
            refusal: Cell::default(),
            declared_failed: Cell::default(),
            end: Cell::default(),
            waker: RefCell::default(),
            operations: RefCell::default(),
            resumable: RefCell::default(),
            is_suspended: Cell::default(),
            groups: RefCell::default(),
            parts: UserParts::default(),
        }
    }

    /// The state of a capability for this user. `make` creates it on first use.
    pub(crate) fn part<T: UserPart>(&self, make: impl FnOnce(&Self) -> T) -> Rc<T> {
        self.parts.get_or(|| make(self))
    }

    pub(crate) fn now(&self) -> Nanos {
        self.worker.clock.now()
    }

    /// The realm that its code runs in.
    ///
    /// # Errors
    /// The run has ended.
    pub(crate) fn realm(&self, ctx: &Ctx<'_>) -> rquickjs::Result<Rc<RealmState>> {
        self.realm.upgrade().ok_or_else(|| Exception::throw_message(ctx, "the run has ended"))
    }

    /// An iteration is in progress.
    pub(super) fn is_running(&self) -> bool {
        self.iteration.borrow().is_some()
    }

    /// Throws outside an iteration. `advice`: the remedy, such as "await every request".
    pub(crate) fn check_running(&self, ctx: &Ctx<'_>, advice: &str) -> rquickjs::Result<()> {
        if self.is_running() {
            return Ok(());
        }
        Err(Exception::throw_message(ctx, &format!("the iteration has ended: {advice} inside the scenario's function")))
    }

    /// Passes an operation of the script to the driver. An interruption of the iteration cancels it.
    pub(crate) fn submit(self: &Rc<Self>, operation: Pin<Box<dyn Operation>>, realm: &Rc<RealmState>) {
        let slot = self.worker.submit(operation, Some(Rc::clone(self) as _), realm);
        self.track(Rc::downgrade(&slot) as _);
    }

    /// The worker's network, with the client certificate of this user.
    pub(crate) fn network(&self) -> Rc<Network> {
        self.worker.network.of_user(self.number)
    }

    /// Runs a future for as long as the realm lives, or until its slot is cancelled. Its end is not reported. `None`: the run has ended.
    pub(crate) fn background(&self, future: impl Future<Output = ()> + 'static) -> Option<Rc<OperationSlot>> {
        let realm = self.realm.upgrade()?;
        Some(self.worker.submit(Box::pin(Background::new(future)), None, &realm))
    }
}

/// Its iteration.
impl UserState {
    /// Number of the running iteration within its leaf; `None` between iterations.
    pub(crate) fn sequence(&self) -> Option<u64> {
        self.iteration.borrow().as_ref().map(|iteration| iteration.arrival.sequence)
    }

    /// When the running iteration was due. In closed load: when it began. `None` between iterations.
    pub(crate) fn scheduled(&self) -> Option<Nanos> {
        self.iteration.borrow().as_ref().map(|iteration| iteration.arrival.scheduled)
    }

    /// When the load of this user's leaf ends.
    pub(crate) fn load_end(&self) -> Nanos {
        self.iteration.borrow().as_ref().map_or(0, |iteration| iteration.load_end.get())
    }

    pub(crate) fn measures(&self) -> bool {
        self.measures.get()
    }

    /// Whether its steps are counted and timed from now on.
    pub(crate) fn measure(&self, measures: bool) {
        self.measures.set(measures);
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.get()
    }

    fn kept(&self, open: bool) -> KeptState {
        let keep = self.scenario.keep;
        KeptState {
            connections: keep.connections.unwrap_or(true),
            cookies: keep.cookies.unwrap_or(!open),
            state: keep.state.unwrap_or(!open),
        }
    }

    /// A new iteration begins. Returns whether `user.state` is kept.
    pub(crate) fn begin(&self, iteration: Iteration) -> bool {
        let (open, sequence) = (iteration.open, iteration.arrival.sequence);
        self.epoch.set(self.epoch.get().wrapping_add(1));
        self.due.set(open.then_some(iteration.arrival.scheduled));
        *self.iteration.borrow_mut() = Some(iteration);
        self.pausing.set(Pausing::default());
        self.outcome.set(Outcome::Passed);
        self.threw.set(false);
        self.declared_failed.set(false);
        self.end.set(None);
        self.groups.borrow_mut().clear();
        let stream = if open {
            DrawStream::Arrival { leaf: self.leaf, number: sequence }
        } else {
            DrawStream::Iteration { leaf: self.leaf, user: self.number, iteration: self.epoch.get().into() }
        };
        self.random.restart(stream);
        let kept = self.kept(open);
        self.parts.iteration_began(kept);
        kept.state
    }

    /// The scenario's function has returned. The iteration ends once the steps that were not awaited have ended and its connections that
    /// are not kept are closed.
    pub(crate) fn finish(self: &Rc<Self>, is_exhausted: bool) {
        let Some(iteration) = self.iteration.borrow_mut().take() else { return };
        let leaving = PendingEnd { open: iteration.open, is_exhausted };
        if self.steps.get() > 0 {
            self.leaving.set(Some(leaving));
        } else {
            self.close(leaving);
        }
    }

    fn close(self: &Rc<Self>, leaving: PendingEnd) {
        let closings = self.parts.iteration_returned(self.kept(leaving.open));
        if closings.is_empty() {
            return self.be_over(leaving);
        }
        let user = Rc::clone(self);
        match self.background(join_all(closings).map(move |_| user.be_over(leaving))) {
            Some(slot) => self.track(Rc::downgrade(&slot) as _),
            None => self.be_over(leaving),
        }
    }

    /// A step that the script can await begins.
    pub(super) fn step_began(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    /// It has ended, or was dropped. `series`: the series of its measurement.
    pub(super) fn step_ended(self: &Rc<Self>, series: SeriesId) {
        self.steps.set(self.steps.get().saturating_sub(1));
        let Some(leaving) = self.leaving.get() else { return };
        self.worker.warn_unawaited(&self.scenario, series);
        if self.steps.get() > 0 {
            return;
        }
        // It has not been judged yet, which the driver does before this call.
        match self.realm.upgrade() {
            Some(realm) => self.worker.call(Rc::new(LastStep { user: Rc::clone(self), realm })),
            None => self.be_over(leaving),
        }
    }

    /// The scenario's function threw.
    pub(crate) fn finish_thrown<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, thrown: &Value<'js>) {
        if self.sequence().is_none() {
            return; // Cut off: this error is a consequence.
        }
        if name_of(thrown) == "Exhausted" {
            return self.finish(true);
        }
        self.report(&describe(ctx, &self.worker.loaded.program, thrown));
        self.finish(false);
    }

    /// The next error of the script is its verdict on the target, not an error of the script.
    pub(crate) fn declare_failed(&self) {
        self.declared_failed.set(true);
    }

    fn be_over(&self, leaving: PendingEnd) {
        self.end.set(Some(match (leaving.is_exhausted, self.threw.get()) {
            (true, _) => IterationEnd::Exhausted,
            (false, true) => IterationEnd::Threw(self.outcome.get()),
            (false, false) => IterationEnd::Ended(self.outcome.get()),
        }));
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    pub(crate) fn take_end(&self) -> Option<IterationEnd> {
        self.end.take()
    }

    pub(crate) fn wait(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    /// Ends the iteration from outside: all operations in progress are dropped and recorded as interrupted.
    pub(crate) fn interrupt(&self) {
        *self.iteration.borrow_mut() = None;
        self.leaving.set(None);
        self.waker.borrow_mut().take();
        let operations = std::mem::take(&mut *self.operations.borrow_mut());
        operations.iter().filter_map(Weak::upgrade).for_each(|operation| operation.cancel());
        let groups = std::mem::take(&mut *self.groups.borrow_mut());
        groups.iter().rev().for_each(|group| self.record_group(group, GroupEnd::Interrupted));
        self.abandon();
    }

    /// Closes all connections, without waiting for a server.
    pub(crate) fn abandon(&self) {
        self.parts.abandon();
    }
}

/// Its function, if that is resumed with results instead of awaiting promises.
impl UserState {
    pub(crate) fn resumed_through(&self, resumable: Weak<dyn Resumable>) {
        *self.resumable.borrow_mut() = Some(resumable);
    }

    pub(super) fn wait_for_resumption(&self) {
        self.is_suspended.set(true);
    }

    /// Whether the function has begun to wait for an operation since the last call.
    pub(crate) fn take_suspension(&self) -> bool {
        self.is_suspended.take()
    }

    /// Continues the function of this iteration with a result.
    pub(crate) fn resume<'js>(&self, ctx: &Ctx<'js>, epoch: u32, result: rquickjs::Result<Value<'js>>) -> rquickjs::Result<()> {
        if epoch != self.epoch() || !self.is_running() {
            return Ok(());
        }
        let resumable = self.resumable.borrow().as_ref().and_then(Weak::upgrade);
        resumable.map_or(Ok(()), |resumable| resumable.resume(ctx, result))
    }
}

/// The clock of its steps.
impl UserState {
    /// A declared pause begins.
    pub(crate) fn pause_began(&self, now: Nanos, until: Nanos) {
        let mut pausing = self.pausing.get();
        pausing.began(now, until);
        self.pausing.set(pausing);
    }

    pub(crate) fn pause_ended(&self, epoch: u32, now: Nanos) {
        if epoch == self.epoch.get() {
            let mut pausing = self.pausing.get();
            pausing.ended(now);
            self.pausing.set(pausing);
        }
    }

    /// When the next request was due, if it is the first of an open iteration. A declared pause before it is not lateness: it moves the due
    /// time, but never beyond now.
    pub(crate) fn take_due(&self) -> Option<Nanos> {
        let due = self.due.take()?;
        let now = self.now();
        Some(due.saturating_add(self.pausing.get().lasted_ns(now)).min(now))
    }

    /// A step failed with this outcome. So have its iteration and the groups around it.
    pub(crate) fn note_failure(&self, outcome: Outcome, epoch: u32, group: Option<&Rc<Group>>) {
        if epoch == self.epoch.get() {
            self.note_outcome(if outcome == Outcome::Script { Outcome::Script } else { Outcome::Step });
        }
        Group::fail(group);
    }

    /// The generator refused to send the step that is being recorded.
    pub(super) fn refuse(&self, problem: String) {
        self.refusal.set(Some(problem.into()));
    }

    pub(crate) fn forget_refusal(&self) {
        self.refusal.take();
    }

    /// The error for a step that the generator refused to send, if it did.
    pub(crate) fn take_refusal(&self, ctx: &Ctx<'_>) -> Option<rquickjs::Error> {
        self.refusal.take().map(|problem| Exception::throw_type(ctx, &problem))
    }

    /// The first cause applies: an error that a script throws after a failed response is a consequence.
    fn note_outcome(&self, outcome: Outcome) {
        if self.outcome.get() == Outcome::Passed {
            self.outcome.set(outcome);
        }
    }

    /// The innermost open group.
    pub(crate) fn group(&self) -> Option<Rc<Group>> {
        self.groups.borrow().last().cloned()
    }

    pub(crate) fn enter_group(&self, name: &str, parent: Option<Rc<Group>>, tags: Tags) -> Rc<Group> {
        let group = Group::new(name, parent, tags, self.now());
        self.groups.borrow_mut().push(Rc::clone(&group));
        group
    }

    pub(crate) fn leave_group(&self, group: &Rc<Group>, end: GroupEnd) {
        let mut groups = self.groups.borrow_mut();
        let Some(at) = groups.iter().rposition(|open| Rc::ptr_eq(open, group)) else { return };
        groups.remove(at);
        drop(groups);
        self.record_group(group, end);
    }

    fn record_group(&self, group: &Group, end: GroupEnd) {
        if !self.measures() {
            return;
        }
        let parent: Arc<str> = group.parent.as_ref().map_or_else(|| "".into(), |parent| parent.name.clone());
        let series = self.scenario.series(&self.worker.recorder, SeriesKind::Group, &parent, &group.name);
        if matches!(end, GroupEnd::Threw) && self.declared_failed.get() {
            group.declare_failed();
        }
        let sample = group.sample(self.now(), end);
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.record(series, &sample);
        let tagged = if group.tags.is_empty() { None } else { recorder.tagged(series, &group.tags) };
        if let Some(tagged) = tagged {
            recorder.record_tagged(tagged, &sample);
        }
    }
}

impl Owner for UserState {
    fn label(&self) -> (Rc<str>, u64) {
        (Rc::clone(&self.scenario.name), self.number)
    }

    fn report(&self, error: &ScriptError) {
        let is_present = self.iteration.borrow().is_some() || self.leaving.get().is_some();
        if is_present {
            self.threw.set(true);
            // What the script declares to have failed is a failure of the target.
            let is_declared = self.declared_failed.take();
            self.note_outcome(if is_declared { Outcome::Step } else { Outcome::Script });
            if !is_declared && self.outcome.get() == Outcome::Script {
                self.worker.recorder.borrow_mut().script_error(self.scenario.iterations);
            }
        }
        let outcome = if is_present { self.outcome.get() } else { Outcome::Script };
        self.worker.report(self.scenario.iterations, outcome, error);
    }

    fn fail(self: Rc<Self>) {
        self.finish(false);
    }

    fn track(&self, operation: Weak<dyn Cancel>) {
        let mut operations = self.operations.borrow_mut();
        // Usually the previous operation has ended, and a weak reference would hold its memory.
        while operations.last().is_some_and(|operation| operation.strong_count() == 0) {
            operations.pop();
        }
        if operations.len() >= OPERATIONS_SWEPT_AT {
            operations.retain(|operation| operation.strong_count() > 0);
        }
        operations.push(operation);
    }
}

/// How an iteration ends after its function has returned.
#[derive(Debug, Clone, Copy)]
struct PendingEnd {
    open: bool,
    is_exhausted: bool,
}

/// The last step of an iteration that is ending has ended.
struct LastStep {
    user: Rc<UserState>,
    realm: Rc<RealmState>,
}

impl PendingCall for LastStep {
    fn realm(&self) -> &Rc<RealmState> {
        &self.realm
    }

    fn owner(&self) -> Option<Rc<dyn Owner>> {
        Some(Rc::clone(&self.user) as _)
    }

    fn call(&self, _: &Ctx<'_>) -> rquickjs::Result<()> {
        // Interrupted meanwhile: nothing is left to wait for.
        if let Some(leaving) = self.user.leaving.take() {
            self.user.close(leaving);
        }
        Ok(())
    }
}

impl AwaitsPromise for UserState {
    fn fulfilled(self: Rc<Self>) {
        self.finish(false);
    }

    fn rejected<'js>(self: Rc<Self>, ctx: &Ctx<'js>, reason: &Value<'js>) {
        self.finish_thrown(ctx, reason);
    }
}
