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

/// What a script awaits, or what goes on in the background for it. [`super::promise`] makes most of them of a future and a function.
pub(crate) trait Operation {
    /// Drives it, outside JavaScript. Instants are taken here, where no script stands in between.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()>;

    /// It is done: judges and records what came of it, and tells the script.
    ///
    /// # Errors
    /// What the script threw while it was told; its iteration fails.
    fn settle(self: Pin<Box<Self>>, ctx: &Ctx<'_>) -> rquickjs::Result<()>;

    /// Whether [`Operation::settle`] is wanted. Otherwise its realm need not be entered.
    fn is_awaited(&self) -> bool {
        true
    }
}

pin_project! {
    /// A future whose end nobody is told.
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

/// An operation in the hands of the driver, which polls it, and of whoever may cancel it.
pub(crate) struct OperationSlot {
    operation: RefCell<Option<Pin<Box<dyn Operation>>>>,
    waker: RefCell<Option<Waker>>,
    cancelled: Cell<bool>,
    /// Whose operation it is; timers set outside scenarios have none.
    pub(super) owner: Option<Rc<dyn Owner>>,
    /// After the operation: the values in it must go before their realm does.
    pub(super) realm: Rc<RealmState>,
}

impl OperationSlot {
    pub(super) fn new(operation: Pin<Box<dyn Operation>>, owner: Option<Rc<dyn Owner>>, realm: Rc<RealmState>) -> Rc<Self> {
        Rc::new(Self { operation: RefCell::new(Some(operation)), waker: RefCell::default(), cancelled: Cell::default(), owner, realm })
    }

    /// The operation, to be settled; `None` when it was cancelled meanwhile.
    pub(super) fn take(&self) -> Option<Pin<Box<dyn Operation>>> {
        self.operation.borrow_mut().take()
    }
}

impl Cancel for OperationSlot {
    fn cancel(&self) {
        self.cancelled.set(true);
        // It may cancel itself while it is polled or settles: it then ends by itself.
        let operation = self.operation.try_borrow_mut().ok().and_then(|mut operation| operation.take());
        drop(operation);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// The driver's hold on an operation. Completes with nothing when there is nothing to settle.
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
