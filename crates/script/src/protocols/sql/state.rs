//! The script's handle of a database, in a transaction or not, and the clients of a user.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use loadstone_protocol::Network;
use loadstone_protocol::sql::{SqlAddress, SqlClient, SqlTransactionId};

use crate::protocols::clients::UserClient;
use crate::runtime::group::Group;
use crate::runtime::user::UserState;

/// A database, for one user.
#[derive(Clone)]
pub(super) struct SqlHandle {
    pub(super) user: Rc<UserState>,
    /// The group in whose function it was created by that group's user. `None`: the group that is open at the time of a call.
    pub(super) group: Option<Rc<Group>>,
    pub(super) client: Rc<SqlClient>,
    pub(super) timeout_ns: u64,
    pub(super) within: Option<Rc<TransactionState>>,
}

/// The state of a transaction.
#[derive(Default)]
pub(super) struct TransactionState {
    /// `None`: it did not begin.
    pub(super) id: Option<SqlTransactionId>,
    pub(super) committed: Cell<bool>,
    first_failure: RefCell<Option<SqlFailure>>,
}

/// Why a statement failed.
#[derive(Debug, Clone)]
pub(super) struct SqlFailure {
    /// The complete message.
    pub(super) error: String,
    /// SQLSTATE, if the server sent one.
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

    /// An open transaction would hold its locks until the next iteration happens to end it.
    fn close_unless_idle(&self) {
        self.close_unless_idle();
    }
}
