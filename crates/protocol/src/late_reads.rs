//! Responses that may be read late, since the kernel's timestamp records when they arrived.
//!
//! Being woken by a response costs the generator more CPU time than sending the request. If only the end of an iteration of open load follows from
//! the response, it can be read when the next arrival is due. Its time is still exact. This only holds for a small response: one that fills the
//! socket's buffer blocks the server until it is read.

use std::cell::Cell;
use std::rc::Rc;

use loadstone_metrics::{LATE_READ_MAX_NS, Nanos};

/// The late reads of one worker's requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct LateReads {
    state: Rc<LateState>,
}

#[derive(Debug)]
struct LateState {
    allowed: Cell<bool>,
    waiting: Cell<u64>,
    max_ns: Cell<Nanos>,
}

impl Default for LateState {
    fn default() -> Self {
        Self { allowed: Cell::default(), waiting: Cell::default(), max_ns: Cell::new(LATE_READ_MAX_NS) }
    }
}

impl LateReads {
    pub(crate) fn allow(&self, allowed: bool) {
        self.state.allowed.set(allowed);
    }

    /// The longest that such a response waits.
    pub(crate) fn max_ns(&self) -> Nanos {
        self.state.max_ns.get()
    }

    pub(crate) fn limit(&self, max_ns: Nanos) {
        self.state.max_ns.set(max_ns);
    }

    pub(crate) fn are_allowed(&self) -> bool {
        self.state.allowed.get()
    }

    /// Number of requests whose response is pending and may be read late.
    pub(crate) fn waiting(&self) -> u64 {
        self.state.waiting.get()
    }

    pub(crate) fn wait(&self) -> LateRead {
        self.state.waiting.set(self.waiting() + 1);
        LateRead { reads: self.clone() }
    }
}

/// One request whose response may be read late. It ends when the first byte is read.
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
