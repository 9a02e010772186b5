//! The state of one VU, and the token with which its code reaches the worker.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_engine::{Iteration, IterationEnd};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome, Phases, Recorder, Sample, SeriesKind};
use loadstone_plan::{IterationSplit, LoadProfile, ScenarioId};
use loadstone_protocol::http::HttpSession;
use rquickjs::{Ctx, Exception, JsLifetime};

use crate::coroutine::{Interrupted, Suspender};
use crate::open_connections::IterationConnections;
use crate::operations::Operations;
use crate::options::K6Scenario;
use crate::script_part::ScriptPart;
use crate::worker::Worker;

/// A piece of work for a VU.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) iteration: Iteration,
    pub(crate) part: ScriptPart,
    /// In k6, the arrival would have been dropped: it found no free VU.
    pub(crate) found_no_vu: bool,
}

/// Longest time that JavaScript runs before the other VUs of its worker do. Nanoseconds.
const SLICE_NS_MAX: Nanos = 10_000_000;

/// A wait before which a VU returns the pages of its stack that only earlier, deeper calls have used, and the time between two such waits: it costs some
/// microseconds, which most waits do not repay.
const RELEASING_WAIT_NS: Nanos = 1_000_000_000;
const BETWEEN_RELEASES_NS: Nanos = 60_000_000_000;

pub(crate) type VuSuspender = Suspender<Work, IterationEnd>;

/// A group that has begun.
struct OpenGroup {
    name: Arc<str>,
    /// `::outer::inner`.
    path: String,
    began: Nanos,
    failed: Cell<bool>,
}

/// The running iteration.
pub(crate) struct CurrentIteration {
    pub(crate) iteration: Iteration,
    pub(crate) part: ScriptPart,
    pub(crate) began: Nanos,
    /// Iterations of this VU, and of this VU in this scenario, before this one.
    pub(crate) number: u64,
    pub(crate) number_in_scenario: u64,
    /// When the first request was due. That request takes it.
    due: Cell<Option<Nanos>>,
}

/// State of one VU. It contains no JavaScript value, so it may outlive the runtime.
pub(crate) struct VuState {
    pub(crate) worker: Rc<Worker>,
    /// `__VU`.
    pub(crate) id: u64,
    pub(crate) session: HttpSession,
    suspender: VuSuspender,
    interrupted: Cell<bool>,
    running: RefCell<Option<CurrentIteration>>,
    groups: RefCell<Vec<OpenGroup>>,
    /// `exec.vu.tags`: those of the test and the scenario, and those that the script sets.
    pub(crate) tags: RefCell<BTreeMap<String, String>>,
    iterations: Cell<u64>,
    /// Failed iterations in a row, and the requests of the running one: those with a response, and those without.
    failed_in_row: Cell<u32>,
    answered: Cell<bool>,
    unanswered: Cell<bool>,
    iterations_in: RefCell<BTreeMap<usize, u64>>,
    /// The present slice of JavaScript, on a real clock: an endless loop does not wait for a test to advance the time.
    slice_began: Cell<Nanos>,
    slice_clock: Monotonic,
    operations: Operations,
    /// When the VU last returned the unused pages of its stack.
    stack_released: Cell<Nanos>,
    pub(crate) connections: IterationConnections,
}

/// Native functions find their VU by it.
#[derive(JsLifetime)]
pub(crate) struct VuHandle(pub(crate) Rc<VuState>);

/// Proof that the VU's code runs now. Code that borrows from the worker borrows the turn, and a suspension needs the turn for itself, so the compiler
/// refuses a borrow of the worker's state across a suspension:
///
/// ```compile_fail,E0502
/// fn native(turn: &mut loadstone_k6::Turn, ctx: &rquickjs::Ctx<'_>) {
///     let recorder = turn.recorder();
///     let _ = turn.wait(ctx, std::future::ready(()));
///     drop(recorder);
/// }
/// ```
///
/// The same without the borrow compiles:
///
/// ```no_run
/// fn native(turn: &mut loadstone_k6::Turn, ctx: &rquickjs::Ctx<'_>) {
///     drop(turn.recorder());
///     let _ = turn.wait(ctx, std::future::ready(()));
/// }
/// ```
pub struct Turn {
    vu: Rc<VuState>,
}

impl Turn {
    /// The turn of a native function's call.
    pub(crate) fn of(ctx: &Ctx<'_>) -> rquickjs::Result<Self> {
        match ctx.userdata::<VuHandle>() {
            Some(handle) if handle.0.interrupted.get() => Err(uncatchable(ctx)),
            Some(handle) => Ok(Self { vu: Rc::clone(&handle.0) }),
            None => {
                Err(Exception::throw_message(ctx, "this function works in VU code only, not in the init context (top level of the script)"))
            }
        }
    }

    /// The same, only while an iteration, `setup` or `teardown` runs.
    pub(crate) fn running(ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<Self> {
        let outside = || Exception::throw_message(ctx, &format!("{what} cannot be used in the init context (the top level of the script)"));
        if Self::is_running(ctx) { Self::of(ctx) } else { Err(outside()) }
    }

    /// Whether an iteration, `setup` or `teardown` runs.
    pub(crate) fn is_running(ctx: &Ctx<'_>) -> bool {
        ctx.userdata::<VuHandle>().is_some_and(|handle| handle.0.running.borrow().is_some())
    }

    pub(crate) fn vu(&self) -> &VuState {
        &self.vu
    }

    pub(crate) fn shared(&self) -> Rc<VuState> {
        Rc::clone(&self.vu)
    }

    pub(crate) fn now(&self) -> Nanos {
        self.vu.worker.clock.now()
    }

    /// The worker's recorder, until the turn is used to wait.
    pub fn recorder(&self) -> RefMut<'_, Recorder> {
        self.vu.worker.recorder.borrow_mut()
    }

    /// Suspends the VU until `future` is ready.
    ///
    /// # Errors
    /// The iteration was interrupted. The script cannot catch this error.
    pub fn wait<F: Future>(&mut self, ctx: &Ctx<'_>, future: F) -> rquickjs::Result<F::Output> {
        if self.vu.interrupted.get() {
            return Err(uncatchable(ctx));
        }
        let operations = &self.vu.operations;
        let mut future = pin!(future);
        let driven = poll_fn(|context| {
            if !operations.is_empty() {
                operations.drive(context);
            }
            future.as_mut().poll(context)
        });
        match self.vu.suspender.wait(driven) {
            Ok(output) => {
                self.vu.begin_slice();
                Ok(output)
            }
            Err(Interrupted) => {
                self.vu.interrupted.set(true);
                Err(uncatchable(ctx))
            }
        }
    }

    /// The VU is about to wait for this long: returns memory that it does not need meanwhile. Nanoseconds.
    pub(crate) fn prepare_wait(&self, wait_ns: Nanos) {
        let (vu, now) = (&self.vu, self.now());
        let is_due = vu.stack_released.get() == 0 || now >= vu.stack_released.get() + BETWEEN_RELEASES_NS;
        if wait_ns >= RELEASING_WAIT_NS && is_due {
            vu.stack_released.set(now.max(1));
            vu.suspender.release_unused_stack();
        }
    }

    /// Reads the running iteration.
    pub(crate) fn running_iteration<R>(&self, read: impl FnOnce(&CurrentIteration) -> R) -> Option<R> {
        self.vu.running.borrow().as_ref().map(read)
    }

    pub(crate) fn scenario_id(&self) -> ScenarioId {
        self.vu.scenario_id()
    }

    /// When the first request of an open iteration was due. Later requests have no due time.
    pub(crate) fn take_due(&self) -> Option<Nanos> {
        self.running_iteration(|running| running.due.take()).flatten()
    }

    /// The name of the innermost group, empty outside.
    pub(crate) fn group(&self) -> Arc<str> {
        self.vu.groups.borrow().last().map_or_else(|| self.vu.worker.no_group(), |group| Arc::clone(&group.name))
    }

    /// `::outer::inner`, as in k6's tag `group`.
    pub(crate) fn group_path(&self) -> String {
        self.vu.group_path()
    }

    pub(crate) fn enter_group(&self, name: &str) {
        let path = format!("{}::{name}", self.group_path());
        self.vu.worker.count_steps(|steps| steps.enter(&path));
        let group = OpenGroup { name: name.into(), path, began: self.now(), failed: Cell::default() };
        self.vu.groups.borrow_mut().push(group);
    }

    pub(crate) fn leave_group(&self) {
        self.leave_group_as(None);
    }

    fn leave_group_as(&self, interruption: Option<Outcome>) {
        let Some(group) = self.vu.groups.borrow_mut().pop() else { return };
        let parent = self.group();
        let outcome = interruption.unwrap_or(if group.failed.get() { Outcome::Step } else { Outcome::Passed });
        let (now, scenario) = (self.now(), self.scenario_id());
        let sample = Sample {
            scheduled: group.began,
            started: group.began,
            ended: now,
            phases: Phases::default(),
            outcome,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            retried: 0,
            trace: None,
        };
        let mut recorder = self.recorder();
        let series = self.vu.worker.series(&mut recorder, SeriesKind::Group, scenario, &parent, &group.name);
        recorder.record(series, &sample);
        if interruption.is_none() {
            let ms = (now - group.began) as f64 / 1e6;
            let of_call = [("group", group.path.as_str().into())];
            let tag = self.vu.tag_of(&of_call, &[]);
            self.vu.worker.record_own(&mut recorder, "group_duration", ms, &tag);
        }
    }
}

/// An error that no `catch` and no `finally` of the script sees.
pub(crate) fn uncatchable(ctx: &Ctx<'_>) -> rquickjs::Error {
    match Exception::from_message(ctx.clone(), "the iteration was interrupted") {
        Ok(exception) => {
            let value = exception.into_value();
            // SAFETY: the value is an error object of this context, and alive.
            unsafe { rquickjs::qjs::JS_SetUncatchableError(ctx.as_raw().as_ptr(), value.as_raw()) };
            ctx.throw(value)
        }
        Err(error) => error,
    }
}

/// A tag known from the call, before those of the VU.
pub(crate) type CallTag<'t> = (&'t str, std::borrow::Cow<'t, str>);

impl VuState {
    pub(crate) fn new(worker: Rc<Worker>, id: u64, session: HttpSession, suspender: VuSuspender) -> Self {
        Self {
            worker,
            id,
            session,
            suspender,
            interrupted: Cell::default(),
            running: RefCell::default(),
            groups: RefCell::default(),
            tags: RefCell::default(),
            iterations: Cell::default(),
            failed_in_row: Cell::default(),
            answered: Cell::default(),
            unanswered: Cell::default(),
            iterations_in: RefCell::default(),
            slice_began: Cell::default(),
            slice_clock: Monotonic::start(),
            operations: Operations::default(),
            stack_released: Cell::default(),
            connections: IterationConnections::default(),
        }
    }

    pub(crate) fn suspender(&self) -> &VuSuspender {
        &self.suspender
    }

    pub(crate) fn operations(&self) -> &Operations {
        &self.operations
    }

    /// `__ITER`.
    pub(crate) fn iteration_number(&self) -> u64 {
        self.running.borrow().as_ref().map_or(0, |running| running.number)
    }

    /// Iterations of this VU in the scenario before the running one.
    pub(crate) fn number_in_scenario(&self) -> u64 {
        self.running.borrow().as_ref().map_or(0, |running| running.number_in_scenario)
    }

    /// When the load of the scenario ends, as known now.
    pub(crate) fn load_end(&self) -> Nanos {
        self.running.borrow().as_ref().map_or(Nanos::MAX, |running| running.iteration.load_end.get())
    }

    pub(crate) fn set_interrupted(&self, interrupted: bool) {
        self.interrupted.set(interrupted);
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }

    pub(crate) fn scenario_id(&self) -> ScenarioId {
        self.running.borrow().as_ref().map_or(ScenarioId(0), |running| running.iteration.arrival.scenario)
    }

    pub(crate) fn scenario(&self) -> Option<&K6Scenario> {
        match self.running.borrow().as_ref()?.part {
            ScriptPart::Scenario(index) => self.worker.test.scenarios.get(index),
            _ => None,
        }
    }

    /// A request failed, so the groups around it did.
    pub(crate) fn fail_groups(&self) {
        self.groups.borrow().iter().for_each(|group| group.failed.set(true));
    }

    /// A request has ended.
    pub(crate) fn note_request(&self, is_answered: bool) {
        let kind = if is_answered { &self.answered } else { &self.unanswered };
        kind.set(true);
    }

    /// Counts an iteration that has ended. Returns how many have failed in a row: they threw, or no request got a response.
    pub(crate) fn count_failed(&self, threw: bool) -> u32 {
        let failed = !self.answered.get() && (threw || self.unanswered.get());
        self.failed_in_row.set(if failed { self.failed_in_row.get().saturating_add(1) } else { 0 });
        self.failed_in_row.get()
    }

    /// The value of a tag: of the call, of the VU, or one that k6 adds (`of_system`), if the option `systemTags` has it.
    pub(crate) fn tag_of<'t>(
        &'t self,
        of_system: &'t [CallTag<'t>],
        of_call: &'t [CallTag<'t>],
    ) -> impl Fn(&str) -> Option<std::borrow::Cow<'t, str>> {
        let value_in =
            |tags: &'t [CallTag<'t>], name: &str| tags.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        move |name: &str| {
            if let Some(value) = value_in(of_call, name).or_else(|| self.tags.borrow().get(name).map(|value| value.clone().into())) {
                return Some(value);
            }
            if !self.worker.test.settings.system_tags.contains(name) {
                return None;
            }
            value_in(of_system, name).or_else(|| match name {
                "scenario" => self.scenario().map(|scenario| scenario.name.clone().into()),
                "group" => Some(self.group_path().into()),
                _ => None,
            })
        }
    }

    fn group_path(&self) -> String {
        let path = self.groups.borrow().last().map(|group| group.path.clone());
        path.unwrap_or_else(|| match self.running.borrow().as_ref().map(|running| running.part) {
            Some(ScriptPart::SetUp) => "::setup".to_owned(),
            Some(ScriptPart::TearDown) => "::teardown".to_owned(),
            _ => String::new(),
        })
    }

    /// An iteration begins.
    pub(crate) fn begin(&self, work: Work) {
        let Work { iteration, part, .. } = work;
        let number_in_scenario = match part {
            ScriptPart::Scenario(index) => {
                let mut counts = self.iterations_in.borrow_mut();
                let count = counts.entry(index).or_default();
                *count += 1;
                *count - 1
            }
            _ => 0,
        };
        let number = self.iterations.replace(self.iterations.get() + 1);
        let mut tags = self.worker.test.settings.tags.clone();
        if let ScriptPart::Scenario(index) = part {
            tags.extend(self.worker.test.scenarios[index].tags.clone());
        }
        *self.tags.borrow_mut() = tags;
        self.interrupted.set(false);
        self.answered.set(false);
        self.unanswered.set(false);
        let now = self.worker.clock.now();
        self.begin_slice();
        let due = Cell::new(iteration.open.then_some(iteration.arrival.scheduled));
        if let ScriptPart::Scenario(index) = part {
            self.worker.counts.iteration_began();
            let scenario = &self.worker.test.scenarios[index];
            if let LoadProfile::Iterations { split: IterationSplit::Shared, .. } = scenario.run.profile {
                scenario.shared.begin(iteration.arrival.sequence);
            }
        }
        *self.running.borrow_mut() = Some(CurrentIteration { iteration, part, began: now, number, number_in_scenario, due });
        if self.worker.test.settings.resets_cookies {
            self.session.clear_cookies();
        }
        if !self.worker.test.settings.reuses_connections_between_iterations {
            self.session.client().close();
        }
    }

    /// It has ended. Groups and connections that the script has not left were interrupted.
    pub(crate) fn end(self: &Rc<Self>, was_interrupted: bool) {
        self.operations.clear();
        self.connections.close();
        let turn = Turn { vu: Rc::clone(self) };
        while !self.groups.borrow().is_empty() {
            turn.leave_group_as(Some(Outcome::Interrupted));
        }
        if self.scenario().is_some() {
            self.worker.counts.iteration_ended(was_interrupted);
        }
        *self.running.borrow_mut() = None;
    }

    /// Called by QuickJS while JavaScript runs, every few thousand branches. True ends the code.
    pub(crate) fn check(&self) -> bool {
        if self.interrupted.get() {
            return true;
        }
        let now = self.slice_clock.now();
        if self.running.borrow().is_none() || now < self.slice_began.get() + SLICE_NS_MAX {
            return false;
        }
        if self.suspender.give_way() == Err(Interrupted) {
            self.interrupted.set(true);
            return true;
        }
        self.begin_slice();
        false
    }

    fn begin_slice(&self) {
        self.slice_began.set(self.slice_clock.now());
    }

    /// The script continues after the event loop of its VU waited.
    pub(crate) fn wait_idle<F: Future>(&self, future: F) -> Result<F::Output, Interrupted> {
        let waited = self.suspender.wait(future);
        self.interrupted.set(waited.is_err());
        self.begin_slice();
        waited
    }
}
