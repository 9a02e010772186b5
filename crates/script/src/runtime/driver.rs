//! The driver of one worker: polls the operations that are ready, then runs the scripts.
//!
//! The order guarantees that no JavaScript runs between a ready socket and the instant recorded for it. All ready operations of all realms
//! are polled first. Then they settle, jobs run, and the new operations are polled (and so sent) at once.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rquickjs::Ctx;

use super::operation::{OperationSlot, Polled};
use super::owner::{Owner, PendingCall};
use super::realm::RealmState;
use super::worker::WorkerState;
use crate::realm::caught;

/// Jobs that one settled operation may run before the others.
const JOBS_MAX: usize = 5_000;
/// Rounds of the loop before the rest of the worker runs.
const ROUNDS_MAX: usize = 16;

/// A realm with jobs left over from an earlier turn.
type Unfinished = (Rc<RealmState>, Option<Rc<dyn Owner>>);

/// The realms of one worker.
pub(crate) struct WorkerRealms {
    pub(crate) worker: Rc<WorkerState>,
    realms: RefCell<Vec<Rc<RealmState>>>,
    unfinished: RefCell<Vec<Unfinished>>,
}

impl Drop for WorkerRealms {
    fn drop(&mut self) {
        // Waiting operations hold their realm, and the realm's objects hold the worker's state.
        self.worker.clear();
    }
}

impl WorkerRealms {
    pub(crate) fn new(worker: Rc<WorkerState>) -> Self {
        Self { worker, realms: RefCell::default(), unfinished: RefCell::default() }
    }

    pub(crate) fn add(&self, realm: &Rc<RealmState>) {
        self.realms.borrow_mut().push(Rc::clone(realm));
    }

    pub(crate) fn count(&self) -> usize {
        self.realms.borrow().len()
    }

    /// A realm with fewer users than this.
    pub(crate) fn with_room(&self, users_max: usize) -> Option<Rc<RealmState>> {
        self.realms.borrow().iter().find(|realm| realm.users.get() < users_max).cloned()
    }

    /// Enters a realm for an owner and runs the resulting jobs.
    fn turn(&self, realm: &Rc<RealmState>, owner: Option<&Rc<dyn Owner>>, call: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<()>) {
        *self.worker.current.borrow_mut() = owner.cloned();
        let program = &realm.realm.world.program;
        let (ended, unhandled) = realm.realm.enter(|ctx| {
            let called = call(ctx).map_err(|error| caught(ctx, program, error));
            let ran = realm.realm.run_jobs(ctx, JOBS_MAX).map(|ran| {
                if ran == JOBS_MAX {
                    self.unfinished.borrow_mut().push((Rc::clone(realm), owner.cloned()));
                }
            });
            let unhandled = realm.realm.take_unhandled(ctx);
            (called.and(ran), unhandled)
        });
        let report = |error| match owner {
            Some(owner) => owner.report(error),
            None => self.worker.sinks.error(error),
        };
        unhandled.iter().for_each(report);
        if let Err(error) = ended {
            report(&error);
            if let Some(owner) = owner {
                Rc::clone(owner).fail();
            }
        }
        *self.worker.current.borrow_mut() = None;
    }

    fn settle(&self, slot: &OperationSlot) {
        let Some(operation) = slot.take() else { return };
        self.turn(&slot.realm, slot.owner.as_ref(), |ctx| operation.settle(ctx));
    }

    fn call(&self, call: &dyn PendingCall) {
        if let Some(owner) = call.owner() {
            self.turn(call.realm(), Some(&owner), |ctx| call.call(ctx));
        }
    }

    /// Nothing is ready: collects garbage if it has accumulated.
    fn rest(&self) {
        for handle in self.realms.borrow().iter() {
            if let Some(took_ns) = handle.realm.collect_if_due(&self.worker.clock) {
                self.worker.recorder.borrow_mut().generator().collections.record(took_ns);
            }
        }
    }
}

/// Polled for as long as the run lasts. Never completes.
pub(crate) struct Driver {
    /// Before the realms: operations hold values of them.
    operations: FuturesUnordered<Polled>,
    ready: Vec<Rc<OperationSlot>>,
    calls: Vec<Rc<dyn PendingCall>>,
    realms: Rc<WorkerRealms>,
}

impl Driver {
    pub(crate) fn new(realms: Rc<WorkerRealms>) -> Self {
        Self { operations: FuturesUnordered::new(), ready: Vec::new(), calls: Vec::new(), realms }
    }

    /// Polls new and woken operations until none is ready.
    fn poll_operations(&mut self, context: &mut Context<'_>) {
        let operations = &self.operations;
        self.realms.worker.take_incoming(|slot| operations.push(Polled(slot)));
        while let Poll::Ready(Some(ready)) = self.operations.poll_next_unpin(context) {
            self.ready.extend(ready);
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        for _ in 0..ROUNDS_MAX {
            this.poll_operations(context);
            this.realms.worker.take_calls(&mut this.calls);
            let unfinished = this.realms.unfinished.take();
            if this.ready.is_empty() && this.calls.is_empty() && unfinished.is_empty() {
                break;
            }
            for slot in this.ready.drain(..) {
                this.realms.settle(&slot);
            }
            for call in this.calls.drain(..) {
                this.realms.call(&*call);
            }
            for (realm, owner) in unfinished {
                this.realms.turn(&realm, owner.as_ref(), |_| Ok(()));
            }
        }
        this.realms.rest();
        this.realms.worker.woken_by(context.waker());
        if this.realms.worker.has_work() || !this.realms.unfinished.borrow().is_empty() {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
