//! Why a worker cannot go on, told by whichever of its tasks finds out.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::control::WorkerError;
use crate::wakeup::Wakeup;

/// The first failure of one worker. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct WorkerFailure {
    error: Rc<RefCell<Option<WorkerError>>>,
    told: Wakeup,
}

impl WorkerFailure {
    pub(crate) fn tell(&self, error: WorkerError) {
        self.error.borrow_mut().get_or_insert(error);
        self.told.wake();
    }

    /// Ready, once, after [`WorkerFailure::tell`].
    pub(crate) fn poll_told(&self, context: &mut Context<'_>) -> Poll<()> {
        self.told.poll(context)
    }

    pub(crate) fn take(&self) -> Option<WorkerError> {
        self.error.take()
    }
}
