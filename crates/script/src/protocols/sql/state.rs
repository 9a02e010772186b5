//! What SQL keeps for a user: a connection to each database; and what a script holds of one, in a transaction or not.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use protocol::sql::{SqlAddress, SqlClient, SqlTransactionId};

use crate::runtime::group::Group;
use crate::runtime::parts::{ClosingWork, KeptState, UserPart};
use crate::runtime::user::UserState;

/// A database as one user has it.
#[derive(Clone)]
pub(super) struct SqlHandle {
    pub(super) user: Rc<UserState>,
    /// The group whose function it was made in by that group's user; `None`: whichever group is open.
    pub(super) group: Option<Rc<Group>>,
    pub(super) client: Rc<SqlClient>,
    pub(super) timeout_ns: u64,
    pub(super) within: Option<Rc<TransactionState>>,
}

/// What is known of a transaction.
#[derive(Default)]
pub(super) struct TransactionState {
    /// `None`: it could not be begun.
    pub(super) id: Option<SqlTransactionId>,
    pub(super) committed: Cell<bool>,
    first_failure: RefCell<Option<SqlFailure>>,
}

/// Why something was not done.
#[derive(Debug, Clone)]
pub(super) struct SqlFailure {
    /// In words, and all of them.
    pub(super) error: String,
    /// SQLSTATE, where the server said so.
    pub(super) code: Option<String>,
}

impl TransactionState {
    pub(super) fn of(id: Option<SqlTransactionId>) -> Self {
        Self { id, ..Self::default() }
    }

    pub(super) fn note(&self, failure: &SqlFailure) {
        self.first_failure.borrow_mut().get_or_insert_with(|| failure.clone());
    }

    pub(super) fn failure(&self) -> Option<SqlFailure> {
        self.first_failure.borrow().clone()
    }
}

/// Connections of one user; as many as there are URLs in its script.
#[derive(Default)]
pub(super) struct SqlUser(RefCell<Vec<Rc<SqlClient>>>);

impl SqlUser {
    pub(super) fn client(user: &UserState, address: SqlAddress) -> Rc<SqlClient> {
        let part = user.part(|_| Self::default());
        let mut clients = part.0.borrow_mut();
        if let Some(known) = clients.iter().find(|client| *client.address() == address) {
            return Rc::clone(known);
        }
        if let Some(password) = &address.password {
            user.worker.loaded.plan.secrets.learn_later(password);
        }
        let client = Rc::new(SqlClient::new(Rc::clone(&user.worker.network), address));
        clients.push(Rc::clone(&client));
        client
    }
}

impl UserPart for SqlUser {
    fn iteration_began(&self, kept: KeptState) {
        if !kept.connections {
            self.abandon();
        }
    }

    /// A transaction that is left open would hold its locks until the next iteration ends it by chance.
    fn iteration_returned(&self, _: KeptState) -> Option<ClosingWork> {
        self.0.borrow().iter().for_each(|client| client.close_unless_idle());
        None
    }

    fn abandon(&self) {
        self.0.borrow().iter().for_each(|client| client.close());
    }
}
