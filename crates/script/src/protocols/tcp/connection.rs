//! A TCP connection of a script, open or closed, and the open connections of a user.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use loadstone_metrics::{Nanos, Outcome, SeriesId};
use loadstone_protocol::Failure;
use loadstone_protocol::raw::RawConnection;

use crate::runtime::parts::{ClosingWork, KeptState, UserPart};
use crate::runtime::user::UserState;

/// Held by the script's object and by its steps in progress.
pub(super) struct UserConnection {
    pub(super) user: Rc<UserState>,
    /// Name and series of its opening.
    pub(super) name: Arc<str>,
    pub(super) series: SeriesId,
    /// For display.
    pub(super) address: Rc<str>,
    /// `Err`: why it was not opened.
    opened: Result<RawConnection, Failure>,
    /// It outlives its iteration.
    kept: bool,
    /// Why it is closed, unless the script closed it.
    loss: RefCell<Option<Failure>>,
    /// The bytes written since the last answer.
    pub(super) question: RefCell<Option<Question>>,
    is_read: Cell<bool>,
}

/// Bytes that were written and not yet answered.
pub(super) struct Question {
    pub(super) started: Nanos,
    pub(super) sent: Nanos,
    pub(super) bytes: u64,
    /// If the exchange is shown.
    pub(super) shown: Vec<u8>,
}

/// The permission to read, of which there is one.
pub(super) struct ReadPermit(Rc<UserConnection>);

impl Drop for ReadPermit {
    fn drop(&mut self) {
        self.0.is_read.set(false);
    }
}

impl UserConnection {
    pub(super) fn new(
        user: &Rc<UserState>,
        (name, series): (Arc<str>, SeriesId),
        address: Rc<str>,
        opened: Result<RawConnection, Failure>,
        kept: bool,
    ) -> Rc<Self> {
        let connection = Rc::new(Self {
            user: Rc::clone(user),
            name,
            series,
            address,
            opened,
            kept,
            loss: RefCell::default(),
            question: RefCell::default(),
            is_read: Cell::default(),
        });
        if connection.opened.is_ok() {
            user.part(|_| OpenConnections::default()).add(&connection);
        }
        connection
    }

    pub(super) fn is_open(&self) -> bool {
        self.opened.as_ref().is_ok_and(RawConnection::is_open)
    }

    /// Why it was not opened, or was lost.
    pub(super) fn error(&self) -> Option<String> {
        let loss = self.loss.borrow();
        self.opened.as_ref().err().or(loss.as_ref()).map(|failure| failure.message.clone())
    }

    /// # Errors
    /// Why there is none.
    pub(super) fn connection(&self) -> Result<&RawConnection, Failure> {
        // Nothing is sent, so such a step has no time.
        let not_open = |message: String| Err(Failure::new(Outcome::NotConnected, message));
        match (&self.opened, &*self.loss.borrow()) {
            (Err(failure), _) if failure.outcome.is_by_generator() => Err(failure.clone()),
            (Err(failure), _) | (_, Some(failure)) => not_open(format!("the connection is closed: {}", failure.message)),
            (Ok(connection), None) if connection.is_closed() => not_open("the connection is closed".to_owned()),
            (Ok(connection), None) => Ok(connection),
        }
    }

    /// `None` while another step reads.
    pub(super) fn begin_reading(self: &Rc<Self>) -> Option<ReadPermit> {
        (!self.is_read.replace(true)).then(|| ReadPermit(Rc::clone(self)))
    }

    /// A step failed: a late answer would be mistaken for the answer to the next request.
    pub(super) fn lose(&self, failure: &Failure) {
        self.loss.borrow_mut().get_or_insert_with(|| failure.clone());
        self.close();
    }

    pub(super) fn close(&self) {
        if let Ok(connection) = &self.opened {
            connection.close();
        }
    }
}

/// The connections of one user. Dropped ones are already closed.
#[derive(Default)]
struct OpenConnections(RefCell<Vec<Weak<UserConnection>>>);

impl OpenConnections {
    fn add(&self, connection: &Rc<UserConnection>) {
        let mut connections = self.0.borrow_mut();
        connections.retain(|connection| connection.upgrade().is_some_and(|connection| connection.is_open()));
        connections.push(Rc::downgrade(connection));
    }

    fn close(&self, stays: impl Fn(&UserConnection) -> bool) {
        self.0.borrow_mut().retain(|held| {
            let held = held.upgrade().filter(|connection| connection.is_open());
            held.is_some_and(|held| {
                let stays = stays(&held);
                if !stays {
                    held.close();
                }
                stays
            })
        });
    }
}

impl UserPart for OpenConnections {
    fn iteration_returned(&self, kept: KeptState) -> Option<ClosingWork> {
        // A kept connection lives as long as `user.state`, where a script would store it.
        self.close(|connection| kept.state && connection.kept);
        None
    }

    fn abandon(&self) {
        self.close(|_| false);
    }
}
