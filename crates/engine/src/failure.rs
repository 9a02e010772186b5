//! Why a worker cannot continue. Any of its tasks can report it.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::control::WorkerError;
use crate::wakeup::Wakeup;

/// The first failure of one worker. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct WorkerFailure {
    error: Rc<RefCell<Option<WorkerError>>>,
    reported: Wakeup,
}

impl WorkerFailure {
    pub(crate) fn report(&self, error: WorkerError) {
        self.error.borrow_mut().get_or_insert(error);
        self.reported.wake();
    }

    /// Ready, once, after [`WorkerFailure::report`].
    pub(crate) fn poll_reported(&self, context: &mut Context<'_>) -> Poll<()> {
        self.reported.poll(context)
    }

    pub(crate) fn take(&self) -> Option<WorkerError> {
        self.error.take()
    }
}
