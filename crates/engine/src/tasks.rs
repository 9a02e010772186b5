//! Tasks of one thread, without a runtime. They let the engine run the same code on tokio and on virtual time.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::wakeup::Wakeup;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A set of tasks that are polled together. Dropping the set drops the tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    running: FuturesUnordered<Task>,
    spawner: Spawner,
}

/// Adds tasks to a set from inside its own tasks.
#[derive(Clone, Default)]
pub(crate) struct Spawner {
    new: Rc<RefCell<Vec<Task>>>,
    added: Wakeup,
}

impl Spawner {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.new.borrow_mut().push(Box::pin(task));
        self.added.wake();
    }
}

impl Tasks {
    pub(crate) fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Polls every task that was woken and every new one. Never completes: the set may be empty for a while.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        loop {
            let new = std::mem::take(&mut *self.spawner.new.borrow_mut());
            self.running.extend(new);
            if let Poll::Ready(Some(())) = self.running.poll_next_unpin(context) {
                continue;
            }
            if self.spawner.added.poll(context).is_pending() {
                return;
            }
        }
    }

    /// Runs `lead` together with the tasks, until `lead` completes. Tasks that still run are then dropped.
    pub(crate) async fn run_until<T>(mut self, lead: impl Future<Output = T>) -> T {
        let mut lead = std::pin::pin!(lead);
        std::future::poll_fn(move |context| {
            if let Poll::Ready(value) = lead.as_mut().poll(context) {
                return Poll::Ready(value);
            }
            self.poll(context);
            lead.as_mut().poll(context)
        })
        .await
    }
}
