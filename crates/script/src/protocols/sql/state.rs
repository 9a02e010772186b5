//! What a script holds of a database, in a transaction or not, and how its client is one of its user.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use loadstone_protocol::Network;
use loadstone_protocol::sql::{SqlAddress, SqlClient, SqlTransactionId};

use crate::protocols::clients::UserClient;
use crate::runtime::group::Group;
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

impl UserClient for SqlClient {
    type Address = SqlAddress;

    fn new(network: Rc<Network>, address: SqlAddress) -> Self {
        Self::new(network, address)
    }

    fn address(&self) -> &SqlAddress {
        self.address()
    }

    fn password(address: &SqlAddress) -> Option<&str> {
        address.password.as_deref()
    }

    fn close(&self) {
        self.close();
    }

    /// A transaction that is left open would hold its locks until the next iteration ends it by chance.
    fn close_unless_idle(&self) {
        self.close_unless_idle();
    }
}
