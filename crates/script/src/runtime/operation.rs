//! An operation that a script awaits: it is polled until it is done, and then settles itself.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pin_project_lite::pin_project;
use rquickjs::Ctx;

use super::owner::{Cancel, Owner};
use super::realm::RealmState;

/// An operation that a script awaits, or one in the background. [`super::promise`] builds most of them from a future and a function.
pub(crate) trait Operation {
    /// Drives it, outside JavaScript. Instants are taken here, before any script runs.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()>;

    /// It is done: judges and records its result, and settles its promise.
    ///
    /// # Errors
    /// The error that the script threw meanwhile. Its iteration fails.
    fn settle(self: Pin<Box<Self>>, ctx: &Ctx<'_>) -> rquickjs::Result<()>;

    /// Whether [`Operation::settle`] is needed. If not, its realm need not be entered.
    fn is_awaited(&self) -> bool {
        true
    }
}

pin_project! {
    /// A future without a result.
    pub(crate) struct Background<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future<Output = ()>> Background<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future }
    }
}

impl<F: Future<Output = ()>> Operation for Background<F> {
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().future.poll(context)
    }

    fn settle(self: Pin<Box<Self>>, _: &Ctx<'_>) -> rquickjs::Result<()> {
        Ok(())
    }

    fn is_awaited(&self) -> bool {
        false
    }
}

/// An operation that the driver polls and that its owner may cancel.
pub(crate) struct OperationSlot {
    operation: RefCell<Option<Pin<Box<dyn Operation>>>>,
    waker: RefCell<Option<Waker>>,
    cancelled: Cell<bool>,
    /// The owner. Timers set outside scenarios have none.
    pub(super) owner: Option<Rc<dyn Owner>>,
    /// Dropped after the operation, whose values must be dropped before their realm.
    pub(super) realm: Rc<RealmState>,
}

impl OperationSlot {
    pub(super) fn new(operation: Pin<Box<dyn Operation>>, owner: Option<Rc<dyn Owner>>, realm: Rc<RealmState>) -> Rc<Self> {
        Rc::new(Self { operation: RefCell::new(Some(operation)), waker: RefCell::default(), cancelled: Cell::default(), owner, realm })
    }

    /// The operation, to be settled. `None` if it was cancelled meanwhile.
    pub(super) fn take(&self) -> Option<Pin<Box<dyn Operation>>> {
        self.operation.borrow_mut().take()
    }
}

impl Cancel for OperationSlot {
    fn cancel(&self) {
        self.cancelled.set(true);
        // It may cancel itself while it is polled or settles. Then it ends by itself.
        let operation = self.operation.try_borrow_mut().ok().and_then(|mut operation| operation.take());
        drop(operation);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// The driver's future of an operation. Completes with `None` if there is nothing to settle.
pub(super) struct Polled(pub(super) Rc<OperationSlot>);

impl Future for Polled {
    type Output = Option<Rc<OperationSlot>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = &self.0;
        let mut held = slot.operation.borrow_mut();
        let Some(operation) = held.as_mut().filter(|_| !slot.cancelled.get()) else { return Poll::Ready(None) };
        match operation.as_mut().poll(context) {
            Poll::Ready(()) if operation.is_awaited() && !slot.cancelled.get() => Poll::Ready(Some(Rc::clone(slot))),
            Poll::Ready(()) => {
                let ended = held.take();
                drop(held);
                drop(ended);
                Poll::Ready(None)
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
