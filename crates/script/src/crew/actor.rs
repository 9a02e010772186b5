//! A virtual user whose iterations a script plays.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use engine::{Iteration, IterationEnd, VirtualUser};
use rquickjs::{Ctx, Function, Object, Persistent, Promise, Value};

use super::cell::UserCell;
use super::desk::RealmHandle;
use crate::realm::{Awaiting, disregard};

/// A user with its JavaScript side. The persistent values come before the realm they belong to, so they are dropped first.
pub(crate) struct Actor {
    pub(crate) user: Persistent<Object<'static>>,
    pub(crate) scenario: Persistent<Function<'static>>,
    /// The promise of the iteration, and its address: kept so that the address stays its own.
    promise: RefCell<Option<(usize, Persistent<Value<'static>>)>>,
    /// `user.state` begins empty.
    pub(crate) forget: Cell<bool>,
    pub(crate) cell: Rc<UserCell>,
    pub(crate) realm: Rc<RealmHandle>,
}

impl Actor {
    pub(crate) fn new(
        user: Persistent<Object<'static>>,
        scenario: Persistent<Function<'static>>,
        cell: Rc<UserCell>,
        realm: Rc<RealmHandle>,
    ) -> Self {
        Self { user, scenario, promise: RefCell::default(), forget: Cell::new(false), cell, realm }
    }

    /// The iteration ends with this promise, which nobody else has.
    pub(crate) fn wait_for<'js>(&self, ctx: &Ctx<'js>, promise: &Promise<'js>) {
        let cell: Rc<dyn Awaiting> = self.cell.clone();
        let address = self.realm.realm.awaited().insert(promise, cell);
        *self.promise.borrow_mut() = Some((address, Persistent::save(ctx, promise.as_value().clone())));
    }

    /// Forgets the promise of an earlier iteration. One that was interrupted may yet fail: as a consequence, which is no news.
    pub(crate) fn wait_no_more(&self, ctx: &Ctx<'_>) {
        let Some((address, promise)) = self.promise.take() else { return };
        if self.realm.realm.awaited().take(address).is_some()
            && let Ok(promise) = promise.restore(ctx)
        {
            disregard(&promise);
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.cell.leave_sockets();
        if self.promise.borrow().is_some() {
            self.realm.realm.enter(|ctx| self.wait_no_more(ctx));
        }
        self.realm.users.set(self.realm.users.get().saturating_sub(1));
    }
}

/// One virtual user of a script.
pub struct ScriptUser {
    actor: Rc<Actor>,
}

impl ScriptUser {
    pub(crate) fn new(actor: Actor) -> Self {
        Self { actor: Rc::new(actor) }
    }
}

impl std::fmt::Debug for ScriptUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptUser").field("scenario", &self.actor.cell.card.name).field("number", &self.actor.cell.number).finish()
    }
}

impl VirtualUser for ScriptUser {
    fn iterate(&mut self, iteration: Iteration) -> impl Future<Output = IterationEnd> {
        Playing { actor: &self.actor, iteration: Some(iteration), ended: false }
    }
}

/// An iteration under way. Dropping it interrupts the iteration.
struct Playing<'u> {
    actor: &'u Rc<Actor>,
    iteration: Option<Iteration>,
    ended: bool,
}

impl Future for Playing<'_> {
    type Output = IterationEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IterationEnd> {
        let actor = self.actor;
        if let Some(iteration) = self.iteration.take() {
            let kept = actor.cell.begin(iteration);
            actor.forget.set(!kept);
            actor.cell.wait(context.waker());
            actor.cell.desk.start(Rc::clone(actor));
            return Poll::Pending;
        }
        match actor.cell.take_end() {
            Some(end) => {
                self.ended = true;
                Poll::Ready(end)
            }
            None => {
                actor.cell.wait(context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for Playing<'_> {
    fn drop(&mut self) {
        if !self.ended && self.iteration.is_none() {
            self.actor.cell.interrupt();
        }
    }
}
