//! The script's handle of a Redis server, and the clients of a user.

use std::rc::Rc;

use loadstone_protocol::Network;
use loadstone_protocol::redis::{RedisAddress, RedisClient};

use crate::protocols::clients::UserClient;
use crate::runtime::group::Group;
use crate::runtime::user::UserState;

/// A server, for one user.
pub(super) struct RedisHandle {
    pub(super) user: Rc<UserState>,
    /// The group in whose function it was created by that group's user. `None`: the group that is open at the time of a call.
    pub(super) group: Option<Rc<Group>>,
    pub(super) client: Rc<RedisClient>,
    pub(super) timeout_ns: u64,
}

impl UserClient for RedisClient {
    type Address = RedisAddress;

    fn new(network: Rc<Network>, address: RedisAddress) -> Self {
        Self::new(network, address)
    }

    fn address(&self) -> &RedisAddress {
        self.address()
    }

    fn password(address: &RedisAddress) -> Option<&str> {
        address.password.as_deref()
    }

    fn close(&self) {
        self.close();
    }
}
