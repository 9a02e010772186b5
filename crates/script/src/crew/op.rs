//! An operation that a script awaits: a native future, and whom to tell when it is done.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use protocol::http::{Exchange, Hops};
use rquickjs::{Function, Persistent, Value};

use super::cell::UserCell;
use super::desk::RealmHandle;
use crate::user::{Happened, Issued, Pending};

/// What an operation yields.
pub(crate) enum Done {
    /// A request sent as prepared.
    Plain(Box<Exchange>),
    Hops(Box<Hops>),
    /// A step on a WebSocket.
    Socket(Box<Happened>),
    Waited,
}

pub(crate) type Work = Pin<Box<dyn Future<Output = Done>>>;

/// Whom to tell.
pub(crate) enum Then {
    /// Judge, record and hand over an answer.
    Answer { resolve: Persistent<Function<'static>>, reject: Persistent<Function<'static>>, issued: Issued },
    /// Record and hand over what a step on a WebSocket brought.
    Socket(Box<Pending>),
    /// Resolve a promise with a value, or with nothing.
    Resolve { resolve: Persistent<Function<'static>>, value: Option<Persistent<Value<'static>>> },
    /// Call a timer's function, again and again when it has an interval. Nanoseconds.
    Call { run: Persistent<Function<'static>>, arguments: Vec<Persistent<Value<'static>>>, interval_ns: Option<u64> },
}

/// Shared by the driver, which polls it, and by whoever may cancel it.
pub(crate) struct OpSlot {
    work: RefCell<Option<Work>>,
    waker: RefCell<Option<Waker>>,
    pub(crate) then: RefCell<Option<Then>>,
    /// Whose operation it is; timers set outside scenarios have none.
    pub(crate) user: Option<Rc<UserCell>>,
    cancelled: Cell<bool>,
    /// After `then`: the values in it must go before their realm does.
    pub(crate) realm: Rc<RealmHandle>,
}

impl OpSlot {
    pub(crate) fn new(work: Work, then: Then, user: Option<Rc<UserCell>>, realm: Rc<RealmHandle>) -> Rc<Self> {
        Rc::new(Self {
            work: RefCell::new(Some(work)),
            waker: RefCell::default(),
            then: RefCell::new(Some(then)),
            user,
            cancelled: Cell::default(),
            realm,
        })
    }

    /// An operation whose end nobody is told.
    pub(crate) fn unheard(work: Work, realm: Rc<RealmHandle>) -> Rc<Self> {
        Rc::new(Self {
            work: RefCell::new(Some(work)),
            waker: RefCell::default(),
            then: RefCell::default(),
            user: None,
            cancelled: Cell::default(),
            realm,
        })
    }

    /// Drops the future now: a request under way closes its connection and is recorded as interrupted.
    pub(crate) fn cancel(&self) {
        self.cancelled.set(true);
        // A timer may cancel itself while its function runs; its future is then gone already.
        let work = self.work.try_borrow_mut().ok().and_then(|mut work| work.take());
        drop(work);
        drop(self.then.borrow_mut().take());
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Arms it anew, for a timer that repeats.
    pub(crate) fn renew(&self, work: Work, then: Then) {
        *self.work.borrow_mut() = Some(work);
        *self.then.borrow_mut() = Some(then);
    }
}

/// The driver's hold on an operation. Completes with nothing when the operation was cancelled.
pub(crate) struct Op(pub(crate) Rc<OpSlot>);

impl Future for Op {
    type Output = Option<(Rc<OpSlot>, Done)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = &self.0;
        let mut work = slot.work.borrow_mut();
        let Some(future) = work.as_mut().filter(|_| !slot.cancelled.get()) else { return Poll::Ready(None) };
        match future.as_mut().poll(context) {
            Poll::Ready(done) => {
                *work = None;
                Poll::Ready(Some((Rc::clone(slot), done)))
            }
            Poll::Pending => {
                let mut waker = slot.waker.borrow_mut();
                if !waker.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}
