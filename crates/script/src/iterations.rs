//! Iterations of a script: the user that the engine drives.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use loadstone_engine::{Iteration, IterationEnd, VirtualUser};
use rquickjs::function::This;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Persistent, Promise, Value};

use crate::realm::{AwaitsPromise, call_with, disregard, thrown};
use crate::runtime::object::UserObject;
use crate::runtime::owner::{Owner, PendingCall};
use crate::runtime::realm::RealmState;
use crate::runtime::user::UserState;

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
    /// `user.state` begins empty.
    forgets: Cell<bool>,
    state: Rc<UserState>,
    realm: Rc<RealmState>,
}

impl ScriptedUser {
    /// Creates the user object and finds the scenario's function.
    pub(crate) fn new(ctx: &Ctx<'_>, state: Rc<UserState>, realm: Rc<RealmState>) -> rquickjs::Result<Self> {
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
        Ok(Self {
            user: Persistent::save(ctx, user),
            scenario: Persistent::save(ctx, scenario),
            on_start,
            on_end,
            part: Cell::new(ScenarioPart::Iteration),
            promise: RefCell::default(),
            forgets: Cell::new(false),
            state,
            realm,
        })
    }

    /// Ends the iteration with this promise, which no other code has.
    fn wait_for<'js>(&self, ctx: &Ctx<'js>, promise: &Promise<'js>) {
        let state: Rc<dyn AwaitsPromise> = self.state.clone();
        let address = self.realm.realm.awaited().insert(promise, state);
        *self.promise.borrow_mut() = Some((address, Persistent::save(ctx, promise.as_value().clone())));
    }

    /// Forgets the promise of an earlier iteration. An interrupted iteration may still fail as a consequence; that is not reported.
    fn wait_no_more(&self, ctx: &Ctx<'_>) {
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

impl Drop for ScriptedUser {
    fn drop(&mut self) {
        self.state.abandon();
        if self.promise.borrow().is_some() {
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
    pub(crate) fn new(scripted: ScriptedUser) -> Self {
        Self { scripted: Rc::new(scripted) }
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
