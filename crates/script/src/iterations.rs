//! Iterations of a script: the user that the engine drives.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

use loadstone_engine::{Iteration, IterationEnd, VirtualUser};
use rquickjs::function::This;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Persistent, Promise, Value};

use crate::realm::{AwaitsPromise, are_pending, call_with, disregard, promise_of, then, thrown};
use crate::runtime::object::UserObject;
use crate::runtime::owner::{Owner, PendingCall};
use crate::runtime::realm::RealmState;
use crate::runtime::user::{Resumable, UserState};

/// Which of a scenario's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScenarioPart {
    Iteration,
    Start,
    End,
}

/// A user with its JavaScript side. The persistent values precede the realm they belong to, so they are dropped first.
pub(crate) struct ScriptedUser {
    user: Persistent<Object<'static>>,
    scenario: Persistent<Function<'static>>,
    /// Its functions before and after its iterations.
    on_start: Option<Persistent<Function<'static>>>,
    on_end: Option<Persistent<Function<'static>>>,
    /// The function that runs next, or runs now.
    part: Cell<ScenarioPart>,
    /// The promise of the iteration, and its address. Stored so that no other value can have the same address.
    promise: RefCell<Option<(usize, Persistent<Value<'static>>)>>,
    /// The scenario's function is a generator that is resumed with results.
    is_stepped: bool,
    /// The suspended generator of the iteration.
    generator: RefCell<Option<Persistent<Value<'static>>>>,
    /// Itself, for what continues the iteration later.
    own: Weak<Self>,
    /// `user.state` begins empty.
    forgets: Cell<bool>,
    state: Rc<UserState>,
    realm: Rc<RealmState>,
}

impl ScriptedUser {
    /// Creates the user object and finds the scenario's function.
    pub(crate) fn new(ctx: &Ctx<'_>, state: Rc<UserState>, realm: Rc<RealmState>) -> rquickjs::Result<Rc<Self>> {
        let native: Object<'_> = ctx.globals().get("__loadstone")?;
        let find: Function<'_> = native.get("scenario")?;
        let name = &*state.scenario.name;
        let scenario: Function<'_> = find.call((name,))?;
        let around = |part: &str| -> rquickjs::Result<_> {
            let function: Option<Function<'_>> = find.call((name, part))?;
            Ok(function.map(|function| Persistent::save(ctx, function)))
        };
        let (on_start, on_end) = if state.scenario.runs_around { (around("onStart")?, around("onEnd")?) } else { (None, None) };
        let user = UserObject::make(ctx, &state)?;
        realm.users.set(realm.users.get() + 1);
        let is_stepped = realm.realm.stepped().has(&scenario);
        let scripted = Rc::new_cyclic(|own: &Weak<Self>| Self {
            user: Persistent::save(ctx, user),
            scenario: Persistent::save(ctx, scenario),
            on_start,
            on_end,
            part: Cell::new(ScenarioPart::Iteration),
            promise: RefCell::default(),
            is_stepped,
            generator: RefCell::default(),
            own: own.clone(),
            forgets: Cell::new(false),
            state,
            realm,
        });
        if is_stepped {
            scripted.state.resumed_through(scripted.own.clone());
        }
        Ok(scripted)
    }

    /// Runs the iteration's generator until it waits or ends.
    fn step<'js>(&self, ctx: &Ctx<'js>, result: Result<&Value<'js>, &Value<'js>>) -> rquickjs::Result<()> {
        let Some(generator) = self.generator.take() else { return Ok(()) };
        let value = generator.clone().restore(ctx)?;
        self.state.take_suspension();
        let stepped = match self.realm.realm.stepped().resume(ctx, &value, result) {
            Ok(stepped) => stepped,
            Err(error) => {
                self.state.finish_thrown(ctx, &thrown(ctx, error));
                return Ok(());
            }
        };
        if self.state.take_suspension() {
            *self.generator.borrow_mut() = Some(generator);
            return Ok(());
        }
        let value: Value<'js> = stepped.get("value")?;
        if stepped.get::<_, bool>("done")? {
            return self.end_with(ctx, value);
        }
        *self.generator.borrow_mut() = Some(generator);
        self.step_after(ctx, &promise_of(Ok(&value))?)
    }

    /// Continues the iteration's generator when a promise settles.
    fn step_after<'js>(&self, ctx: &Ctx<'js>, promise: &Value<'js>) -> rquickjs::Result<()> {
        let (own, epoch) = (self.own.clone(), self.state.epoch());
        let fulfilled = Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: Value<'js>| step_later(&own, epoch, &ctx, Ok(&value)))?;
        let own = self.own.clone();
        let rejected = Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: Value<'js>| step_later(&own, epoch, &ctx, Err(&value)))?;
        then(promise, &fulfilled, &rejected)
    }

    /// Ends the iteration with what its function returned, when that has settled.
    fn end_with<'js>(&self, ctx: &Ctx<'js>, returned: Value<'js>) -> rquickjs::Result<()> {
        if !returned.is_object() {
            self.state.finish(false);
            return Ok(());
        }
        match Promise::from_value(promise_of(Ok(&returned))?) {
            Ok(promise) => self.attach(ctx, promise),
            Err(_) => Ok(()),
        }
    }

    /// Ends the iteration with this promise, which no other code has.
    fn wait_for<'js>(&self, ctx: &Ctx<'js>, promise: &Promise<'js>) {
        let state: Rc<dyn AwaitsPromise> = self.state.clone();
        let address = self.realm.realm.awaited().insert(promise, state);
        *self.promise.borrow_mut() = Some((address, Persistent::save(ctx, promise.as_value().clone())));
    }

    /// Forgets the promise of an earlier iteration. An interrupted iteration may still fail as a consequence; that is not reported.
    fn wait_no_more(&self, ctx: &Ctx<'_>) {
        drop(self.generator.take());
        let Some((address, promise)) = self.promise.take() else { return };
        if self.realm.realm.awaited().take(address).is_some()
            && let Ok(promise) = promise.restore(ctx)
        {
            disregard(&promise);
        }
    }

    /// Ends the iteration when a promise settles that other code may also have.
    fn attach<'js>(&self, ctx: &Ctx<'js>, promise: Promise<'js>) -> rquickjs::Result<()> {
        let then: Function<'js> = promise.then()?;
        let (own, epoch) = (Rc::clone(&self.state), self.state.epoch());
        let passed = Function::new(ctx.clone(), move || {
            if own.epoch() == epoch {
                own.finish(false);
            }
        })?;
        let own = Rc::clone(&self.state);
        let failed = Function::new(ctx.clone(), move |ctx: Ctx<'js>, thrown: Value<'js>| {
            if own.epoch() == epoch {
                own.finish_thrown(&ctx, &thrown);
            }
        })?;
        then.call((This(promise), passed, failed))
    }
}

impl PendingCall for ScriptedUser {
    fn realm(&self) -> &Rc<RealmState> {
        &self.realm
    }

    fn owner(&self) -> Option<Rc<dyn Owner>> {
        // Without a promise, the iteration was interrupted before it began.
        self.state.sequence().map(|_| Rc::clone(&self.state) as _)
    }

    /// Begins the iteration.
    fn call(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        self.wait_no_more(ctx);
        let user = self.user.clone().restore(ctx)?;
        if self.forgets.take() {
            UserObject::forget(&user)?;
        }
        // A scenario that is not an async function throws here, where an async function would reject its promise.
        let function = match self.part.get() {
            ScenarioPart::Iteration => Some(&self.scenario),
            ScenarioPart::Start => self.on_start.as_ref(),
            ScenarioPart::End => self.on_end.as_ref(),
        };
        let scenario = function.unwrap_or(&self.scenario).clone().restore(ctx)?;
        let returned = match call_with(&scenario, user.as_value()) {
            Ok(returned) => returned,
            Err(error) => {
                self.state.finish_thrown(ctx, &thrown(ctx, error));
                return Ok(());
            }
        };
        if self.is_stepped && self.part.get() == ScenarioPart::Iteration {
            *self.generator.borrow_mut() = Some(Persistent::save(ctx, returned));
            return self.step(ctx, Ok(&Value::new_undefined(ctx.clone())));
        }
        match Promise::from_value(returned) {
            Ok(promise) if !self.realm.realm.is_async(&scenario) => self.attach(ctx, promise),
            Ok(promise) if promise.state() != PromiseState::Resolved => {
                self.wait_for(ctx, &promise);
                Ok(())
            }
            _ => {
                self.state.finish(false);
                Ok(())
            }
        }
    }
}

/// What a promise does for a generator when it settles.
fn step_later<'js>(
    scripted: &Weak<ScriptedUser>,
    epoch: u32,
    ctx: &Ctx<'js>,
    result: Result<&Value<'js>, &Value<'js>>,
) -> rquickjs::Result<()> {
    match scripted.upgrade() {
        Some(scripted) if scripted.state.epoch() == epoch => scripted.step(ctx, result),
        _ => Ok(()),
    }
}

impl Resumable for ScriptedUser {
    fn resume<'js>(&self, ctx: &Ctx<'js>, result: rquickjs::Result<Value<'js>>) -> rquickjs::Result<()> {
        let result = result.map_err(|error| thrown(ctx, error));
        let result = result.as_ref();
        // Jobs that were queued before run before, as they would if the function awaited a promise.
        if are_pending(ctx) { self.step_after(ctx, &promise_of(result)?) } else { self.step(ctx, result) }
    }
}

impl Drop for ScriptedUser {
    fn drop(&mut self) {
        self.state.abandon();
        if self.promise.borrow().is_some() || self.generator.borrow().is_some() {
            self.realm.realm.enter(|ctx| self.wait_no_more(ctx));
        }
        self.realm.users.set(self.realm.users.get().saturating_sub(1));
    }
}

/// One virtual user of a script.
pub struct ScriptUser {
    scripted: Rc<ScriptedUser>,
}

impl ScriptUser {
    pub(crate) fn new(scripted: Rc<ScriptedUser>) -> Self {
        Self { scripted }
    }

    /// Runs the user's functions around its iterations. Returns whether all of them succeeded.
    async fn run_aside(&self, part: ScenarioPart, aside: Iteration) -> bool {
        let (scripted, state) = (&self.scripted, &self.scripted.state);
        let function = if part == ScenarioPart::Start { &scripted.on_start } else { &scripted.on_end };
        if function.is_none() {
            return true;
        }
        scripted.part.set(part);
        state.measure(state.scenario.measures_start_and_end);
        let end = RunningIteration { scripted, iteration: Some(aside), ended: false }.await;
        scripted.part.set(ScenarioPart::Iteration);
        state.measure(state.scenario.measured);
        matches!(end, IterationEnd::Ended(outcome) if !outcome.is_failure())
    }
}

impl std::fmt::Debug for ScriptUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = &self.scripted.state;
        f.debug_struct("ScriptUser").field("scenario", &state.scenario.name).field("number", &state.number).finish()
    }
}

impl VirtualUser for ScriptUser {
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = IterationEnd> {
        RunningIteration { scripted: &self.scripted, iteration: Some(iteration), ended: false }
    }

    async fn begin(&mut self, aside: Iteration) -> bool {
        self.run_aside(ScenarioPart::Start, aside).await
    }

    async fn finish(&mut self, aside: Iteration) {
        self.run_aside(ScenarioPart::End, aside).await;
    }
}

/// A running iteration. Dropping it interrupts the iteration.
struct RunningIteration<'u> {
    scripted: &'u Rc<ScriptedUser>,
    /// Until it begins.
    iteration: Option<Iteration>,
    ended: bool,
}

impl Future for RunningIteration<'_> {
    type Output = IterationEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IterationEnd> {
        let scripted = self.scripted;
        let state = &scripted.state;
        if let Some(iteration) = self.iteration.take() {
            let preserves_state = state.begin(iteration);
            scripted.forgets.set(!preserves_state);
            state.wait(context.waker());
            state.worker.call(Rc::clone(scripted) as _);
            return Poll::Pending;
        }
        match state.take_end() {
            Some(end) => {
                self.ended = true;
                Poll::Ready(end)
            }
            None => {
                state.wait(context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for RunningIteration<'_> {
    fn drop(&mut self) {
        if !self.ended && self.iteration.is_none() {
            self.scripted.state.interrupt();
        }
    }
}
