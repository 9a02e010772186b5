//! The driver of one worker: polls the operations that are ready, then lets the scripts go on.
//!
//! In this order, so that JavaScript never stands between a socket that is ready and the instant written down for it: all
//! ready operations of all realms are polled first, their promises are settled next, jobs run, and the new operations that
//! come of it are polled (and so sent) at once.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use engine::IterationEnd;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use metrics::Outcome;
use rquickjs::function::This;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Promise, Value};

use super::actor::Actor;
use super::cell::UserCell;
use super::desk::RealmHandle;
use super::op::{Done, Op, OpSlot, Then};
use super::{Worker, iteration_failed};
use crate::error::ScriptError;
use crate::realm::{call_with, caught, thrown};
use crate::user;

/// Jobs that one settled operation may set off before the others get their turn.
const JOBS_MAX: usize = 5_000;
/// Rounds of the loop before the rest of the worker gets its turn.
const ROUNDS_MAX: usize = 16;

/// Polled for as long as the run lasts; never completes.
pub(crate) struct Driver {
    /// Before the worker: operations hold values of its realms.
    ops: FuturesUnordered<Op>,
    ready: Vec<(Rc<OpSlot>, Done)>,
    starts: Vec<Rc<Actor>>,
    worker: Rc<Worker>,
}

impl Driver {
    pub(crate) fn new(worker: Rc<Worker>) -> Self {
        Self { ops: FuturesUnordered::new(), ready: Vec::new(), starts: Vec::new(), worker }
    }

    /// Polls new and woken operations until none is ready.
    fn poll_operations(&mut self, context: &mut Context<'_>) {
        self.worker.desk.take_incoming(&mut self.ops);
        while let Poll::Ready(Some(done)) = self.ops.poll_next_unpin(context) {
            self.ready.extend(done);
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        for _ in 0..ROUNDS_MAX {
            this.poll_operations(context);
            this.worker.desk.take_starts(&mut this.starts);
            let unfinished = this.worker.unfinished.take();
            if this.ready.is_empty() && this.starts.is_empty() && unfinished.is_empty() {
                break;
            }
            for (slot, done) in this.ready.drain(..) {
                settle(&this.worker, &slot, done);
            }
            for actor in this.starts.drain(..) {
                start(&this.worker, &actor);
            }
            for (realm, user) in unfinished {
                play(&this.worker, &realm, user.as_ref(), |_| Ok(()));
            }
        }
        this.worker.rest();
        this.worker.desk.woken_by(context.waker());
        if this.worker.desk.has_work() || !this.worker.unfinished.borrow().is_empty() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// Enters a realm for a user's sake and runs what jobs come of it.
fn play(
    worker: &Worker,
    realm: &Rc<RealmHandle>,
    user: Option<&Rc<UserCell>>,
    call: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<()>,
) {
    *worker.desk.current.borrow_mut() = user.cloned();
    let program = &realm.realm.world.program;
    let ended = realm.realm.enter(|ctx| {
        let called = call(ctx).map_err(|error| caught(ctx, program, error));
        let ran = realm.realm.run_jobs(ctx, JOBS_MAX).map(|ran| {
            if ran == JOBS_MAX {
                worker.unfinished.borrow_mut().push((Rc::clone(realm), user.cloned()));
            }
        });
        let unhandled = realm.realm.take_unhandled(ctx);
        (called.and(ran), unhandled)
    });
    let (ended, unhandled) = ended;
    for error in unhandled {
        report(worker, user, &error);
    }
    if let Err(error) = ended {
        report(worker, user, &error);
        if let Some(user) = user {
            user.finish(IterationEnd::Ended(Outcome::Script));
        }
    }
    *worker.desk.current.borrow_mut() = None;
}

fn report(worker: &Worker, user: Option<&Rc<UserCell>>, error: &ScriptError) {
    match user {
        Some(user) => worker.desk.report(user.card.iterations, error),
        None => worker.desk.sinks.error(error),
    }
}

fn start(worker: &Worker, actor: &Actor) {
    if actor.cell.sequence().is_none() {
        return; // Interrupted before it began.
    }
    play(worker, &actor.realm, Some(&actor.cell), |ctx| {
        actor.wait_no_more(ctx);
        let user = actor.user.clone().restore(ctx)?;
        if actor.forget.take() {
            user::forget(&user)?;
        }
        // A scenario that is no async function throws here what another's promise would be rejected with.
        let scenario = actor.scenario.clone().restore(ctx)?;
        let returned = match call_with(&scenario, user.as_value()) {
            Ok(returned) => returned,
            Err(error) => {
                iteration_failed(&actor.cell, ctx, &thrown(ctx, error));
                return Ok(());
            }
        };
        match Promise::from_value(returned) {
            Ok(promise) if !actor.realm.realm.is_async(&scenario) => attach(ctx, &actor.cell, promise),
            Ok(promise) if promise.state() != PromiseState::Resolved => {
                actor.wait_for(ctx, &promise);
                Ok(())
            }
            _ => {
                actor.cell.finish(IterationEnd::Ended(actor.cell.outcome()));
                Ok(())
            }
        }
    });
}

/// Has the iteration end when a promise settles that others may have as well.
fn attach<'js>(ctx: &Ctx<'js>, cell: &Rc<UserCell>, promise: Promise<'js>) -> rquickjs::Result<()> {
    let then: Function<'js> = promise.then()?;
    let (own, epoch) = (Rc::clone(cell), cell.epoch());
    let passed = Function::new(ctx.clone(), move || {
        if own.epoch() == epoch {
            own.finish(IterationEnd::Ended(own.outcome()));
        }
    })?;
    let own = Rc::clone(cell);
    let failed = Function::new(ctx.clone(), move |ctx: Ctx<'js>, thrown: Value<'js>| {
        if own.epoch() == epoch {
            iteration_failed(&own, &ctx, &thrown);
        }
    })?;
    then.call((This(promise), passed, failed))
}

/// Tells the script what became of an operation.
fn settle(worker: &Worker, slot: &Rc<OpSlot>, done: Done) {
    let Some(then) = slot.then.borrow_mut().take() else { return };
    play(worker, &slot.realm, slot.user.as_ref(), |ctx| match (then, done) {
        (Then::Answer { .. }, Done::Waited) => Ok(()),
        (Then::Answer { resolve, reject, issued }, answer) => {
            let Some(user) = &slot.user else { return Ok(()) };
            let prototype = slot.realm.response_prototype.clone().restore(ctx)?;
            match user::conclude(ctx, prototype, user, issued, answer) {
                Ok(response) => call_with(&resolve.restore(ctx)?, response.as_value()).map(drop),
                Err(error) => reject.restore(ctx)?.call((thrown(ctx, error),)),
            }
        }
        (Then::Socket(pending), Done::Socket(happened)) => user::settle_socket(ctx, *pending, *happened),
        (Then::Socket(_), _) => Ok(()),
        (Then::Resolve { resolve, value: None }, _) => resolve.restore(ctx)?.call(()),
        (Then::Resolve { resolve, value: Some(value) }, _) => resolve.restore(ctx)?.call((value.restore(ctx)?,)),
        (Then::Call { run, arguments, interval_ns }, _) => {
            if let Some(ns) = interval_ns {
                let again = Then::Call { run: run.clone(), arguments: arguments.clone(), interval_ns };
                slot.renew(worker.waiting(ns), again);
                worker.desk.queue(Op(Rc::clone(slot)));
            }
            user::call_timer(ctx, run, arguments)
        }
    });
}
