//! Responses that may be read late, as the kernel's stamp says when they arrived.
//!
//! To be woken by a response costs the generator more CPU time than the request. Where nothing follows from it but the end of an iteration of open load,
//! it can be read when the next arrival is due, and its time is true all the same. That holds for a small response alone: one that fills the
//! socket's buffer holds the server up until it is read.

use std::cell::Cell;
use std::rc::Rc;

/// What one worker's requests say of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LateReads {
    state: Rc<LateState>,
}

#[derive(Debug, Default)]
struct LateState {
    allowed: Cell<bool>,
    waiting: Cell<u64>,
}

impl LateReads {
    pub(crate) fn allow(&self, allowed: bool) {
        self.state.allowed.set(allowed);
    }

    pub(crate) fn are_allowed(&self) -> bool {
        self.state.allowed.get()
    }

    /// Requests that are sent and whose response may be read late.
    pub(crate) fn waiting(&self) -> u64 {
        self.state.waiting.get()
    }

    pub(crate) fn wait(&self) -> LateRead {
        self.state.waiting.set(self.waiting() + 1);
        LateRead { reads: self.clone() }
    }
}

/// One request whose response may be read late, until its first byte is read.
#[derive(Debug)]
pub(crate) struct LateRead {
    reads: LateReads,
}

impl Drop for LateRead {
    fn drop(&mut self) {
        let waiting = &self.reads.state.waiting;
        waiting.set(waiting.get() - 1);
    }
}
