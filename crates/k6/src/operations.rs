//! What the event loop of a VU waits for: timers, asynchronous requests, and the next events of connections.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, abortable};
use futures_util::stream::FuturesUnordered;
use rquickjs::{Ctx, Value};

/// Converts the result of an operation to the value that the script receives.
pub(crate) type Settlement = Box<dyn for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<Value<'js>>>;

/// Its number, for `__k6.complete(number, value)`, and its result.
pub(crate) type EndedOperation = (u32, Settlement);

type RunningOperation = Pin<Box<dyn Future<Output = EndedOperation>>>;

/// The operations of a VU. They make progress while the VU waits, also if its JavaScript waits for something else.
#[derive(Default)]
pub(crate) struct Operations {
    running: RefCell<FuturesUnordered<RunningOperation>>,
    ended: RefCell<VecDeque<EndedOperation>>,
    /// The timers among them, by number.
    timers: RefCell<HashMap<u32, AbortHandle>>,
}

impl Operations {
    pub(crate) fn begin(&self, operation: impl Future<Output = EndedOperation> + 'static) {
        self.running.borrow_mut().push(Box::pin(operation));
    }

    /// Begins a timer, which ends with `sleep` or when it is stopped.
    pub(crate) fn begin_timer(&self, number: u32, sleep: impl Future<Output = ()> + 'static) {
        let (sleep, handle) = abortable(sleep);
        self.timers.borrow_mut().insert(number, handle);
        self.begin(async move {
            let _ = sleep.await;
            (number, nothing())
        });
    }

    /// Ends a timer at once. False: no timer with this number waits.
    pub(crate) fn stop_timer(&self, number: u32) -> bool {
        let handle = self.timers.borrow_mut().remove(&number);
        handle.inspect(AbortHandle::abort).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.running.borrow().is_empty() && self.ended.borrow().is_empty()
    }

    /// Polls those that can make progress.
    pub(crate) fn drive(&self, context: &mut Context<'_>) {
        let mut running = self.running.borrow_mut();
        while let Poll::Ready(Some(ended)) = running.poll_next_unpin(context) {
            self.ended.borrow_mut().push_back(ended);
        }
    }

    /// The next that ends. There must be one.
    pub(crate) fn next(&self) -> impl Future<Output = EndedOperation> {
        poll_fn(|context| {
            self.drive(context);
            let Some(ended) = self.ended.borrow_mut().pop_front() else { return Poll::Pending };
            self.timers.borrow_mut().remove(&ended.0);
            Poll::Ready(ended)
        })
    }

    /// Drops all of them.
    pub(crate) fn clear(&self) {
        self.running.borrow_mut().clear();
        self.ended.borrow_mut().clear();
        self.timers.borrow_mut().clear();
    }
}

pub(crate) fn settlement(convert: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<Value<'js>> + 'static) -> Settlement {
    Box::new(convert)
}

/// The result of an operation that only ends.
pub(crate) fn nothing() -> Settlement {
    settlement(|ctx| Ok(Value::new_undefined(ctx.clone())))
}
