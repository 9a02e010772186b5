//! The script's handle of a cluster, and the clients of a user.

use std::rc::Rc;

use loadstone_protocol::Network;
use loadstone_protocol::kafka::{KafkaAddress, KafkaClient, KafkaWriting};

use crate::protocols::clients::UserClient;
use crate::runtime::group::Group;
use crate::runtime::user::UserState;

/// A cluster, for one user.
pub(super) struct KafkaHandle {
    pub(super) user: Rc<UserState>,
    /// The group in whose function it was created by that group's user. `None`: the group that is open at the time of a call.
    pub(super) group: Option<Rc<Group>>,
    pub(super) client: Rc<KafkaClient>,
    pub(super) writing: KafkaWriting,
    pub(super) timeout_ns: u64,
}

impl UserClient for KafkaClient {
    type Address = KafkaAddress;

    fn new(network: Rc<Network>, address: KafkaAddress) -> Self {
        Self::new(network, address)
    }

    fn address(&self) -> &KafkaAddress {
        self.address()
    }

    fn password(address: &KafkaAddress) -> Option<&str> {
        address.login.as_ref().map(|(_, password)| password.as_str())
    }

    fn close(&self) {
        self.close();
    }
}
