//! One operation's wait on a socket.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use metrics::Nanos;
use metrics::clock::Timer;

use super::cell::SocketCell;

/// What is waited for.
pub(super) enum Wanted {
    /// A message, where given one that contains this text.
    Message(Option<String>),
    /// The answer to the ping of this number.
    Pong(u64),
    /// The end of the socket.
    End,
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The message of this number may be the one.
    Message(u64),
    /// When the pong arrived.
    Pong(Nanos),
    /// The socket has ended.
    Ended,
    /// The time limit has passed.
    Late,
}

/// An entry in the socket's list of those who wait.
pub(super) struct Waiter {
    /// Earlier messages do not concern it; `None`: no message does.
    from: Cell<Option<u64>>,
    /// Its failure is counted.
    measured: bool,
    waker: RefCell<Option<Waker>>,
}

impl Waiter {
    pub(super) fn wants_from(&self) -> Option<u64> {
        self.from.get()
    }

    pub(super) fn is_measured(&self) -> bool {
        self.measured
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Listens on a socket until what is wanted is heard, or a time limit passes. Dropping it ends the wait.
pub(super) struct Ear {
    cell: Rc<SocketCell>,
    wanted: Wanted,
    waiter: Rc<Waiter>,
    limit: Timer,
    due: Nanos,
}

impl Ear {
    /// `due`: the time limit, `Nanos::MAX` for none. It hears no message before [`Ear::listen_from`].
    pub(super) fn new(cell: &Rc<SocketCell>, wanted: Wanted, measured: bool, due: Nanos) -> Self {
        let waiter = Rc::new(Waiter { from: Cell::default(), measured, waker: RefCell::default() });
        cell.join(Rc::clone(&waiter));
        let limit = cell.identity.user.desk.clock.sleep_until(due);
        Self { cell: Rc::clone(cell), wanted, waiter, limit, due }
    }

    pub(super) fn cell(&self) -> &Rc<SocketCell> {
        &self.cell
    }

    /// Considers messages from this number on.
    pub(super) fn listen_from(&self, number: u64) {
        self.waiter.from.set(Some(number));
    }

    pub(super) fn set_due(&mut self, due: Nanos) {
        self.due = due;
        self.limit.reset(due);
    }

    pub(super) fn due(&self) -> Nanos {
        self.due
    }

    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<Heard> {
        if let Some(heard) = self.heard() {
            return Poll::Ready(heard);
        }
        if self.cell.has_ended() {
            return Poll::Ready(Heard::Ended);
        }
        if self.limit.poll_due(context).is_ready() {
            return Poll::Ready(Heard::Late);
        }
        *self.waiter.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }

    fn heard(&self) -> Option<Heard> {
        match &self.wanted {
            Wanted::Message(text) => {
                let from = self.waiter.from.get()?;
                let candidate = self.cell.candidate(from, text.as_deref(), self.due);
                if candidate.is_none() {
                    // None of those that are there will ever be the one.
                    self.waiter.from.set(Some(self.cell.number_next()));
                }
                candidate.map(Heard::Message)
            }
            Wanted::Pong(number) => self.cell.ponged(*number).filter(|at| *at <= self.due).map(Heard::Pong),
            Wanted::End => None,
        }
    }

    /// Ready when sending has taken longer than the time limit allows.
    pub(super) fn poll_late(&self, context: &mut Context<'_>) -> Poll<()> {
        self.limit.poll_due(context)
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.cell.leave_off(&self.waiter);
    }
}
