//! What Redis keeps for a user: a connection to each server; and what a script holds of one.

use std::cell::RefCell;
use std::rc::Rc;

use protocol::redis::{RedisAddress, RedisClient};

use crate::runtime::group::Group;
use crate::runtime::parts::{KeptState, UserPart};
use crate::runtime::user::UserState;

/// A server as one user has it.
pub(super) struct RedisHandle {
    pub(super) user: Rc<UserState>,
    /// The group whose function it was made in by that group's user; `None`: whichever group is open.
    pub(super) group: Option<Rc<Group>>,
    pub(super) client: Rc<RedisClient>,
    pub(super) timeout_ns: u64,
}

/// Connections of one user; as many as there are URLs in its script.
#[derive(Default)]
pub(super) struct RedisUser(RefCell<Vec<Rc<RedisClient>>>);

impl RedisUser {
    pub(super) fn client(user: &UserState, address: RedisAddress) -> Rc<RedisClient> {
        let part = user.part(|_| Self::default());
        let mut clients = part.0.borrow_mut();
        if let Some(known) = clients.iter().find(|client| *client.address() == address) {
            return Rc::clone(known);
        }
        if let Some(password) = &address.password {
            user.worker.loaded.plan.secrets.learn_later(password);
        }
        let client = Rc::new(RedisClient::new(Rc::clone(&user.worker.network), address));
        clients.push(Rc::clone(&client));
        client
    }
}

impl UserPart for RedisUser {
    fn iteration_began(&self, kept: KeptState) {
        if !kept.connections {
            self.abandon();
        }
    }

    fn abandon(&self) {
        self.0.borrow().iter().for_each(|client| client.close());
    }
}
