//! The clients of a user for databases and brokers: one for each address in its script.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_protocol::Network;

use crate::runtime::parts::{ClosingWork, KeptState, UserPart};
use crate::runtime::user::UserState;

/// A client that opens its connection when it is first used.
pub(super) trait UserClient: 'static {
    type Address: PartialEq;

    fn new(network: Rc<Network>, address: Self::Address) -> Self;

    fn address(&self) -> &Self::Address;

    /// The part that must be masked.
    fn password(address: &Self::Address) -> Option<&str>;

    /// Closes what is open, unless it is in use.
    fn close(&self);

    /// Closes the connection if an iteration has left it in a state that must not reach the next iteration.
    fn close_unless_idle(&self) {}
}

/// One client for each address in the script.
pub(super) struct UserClients<C>(RefCell<Vec<Rc<C>>>);

impl<C: UserClient> UserClients<C> {
    /// The user's client for this address.
    pub(super) fn of(user: &UserState, address: C::Address) -> Rc<C> {
        let part = user.part(|_| Self(RefCell::default()));
        let mut clients = part.0.borrow_mut();
        if let Some(known) = clients.iter().find(|client| *client.address() == address) {
            return Rc::clone(known);
        }
        if let Some(password) = C::password(&address) {
            user.worker.loaded.plan.secrets.learn_later(password);
        }
        let client = Rc::new(C::new(user.network(), address));
        clients.push(Rc::clone(&client));
        client
    }
}

impl<C: UserClient> UserPart for UserClients<C> {
    fn iteration_began(&self, kept: KeptState) {
        if !kept.connections {
            self.abandon();
        }
    }

    fn iteration_returned(&self, _: KeptState) -> Option<ClosingWork> {
        self.0.borrow().iter().for_each(|client| client.close_unless_idle());
        None
    }

    fn abandon(&self) {
        self.0.borrow().iter().for_each(|client| client.close());
    }
}
