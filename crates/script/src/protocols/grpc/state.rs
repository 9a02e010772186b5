//! A user's gRPC connections.

use std::rc::Rc;

use loadstone_protocol::grpc::GrpcClient;

use crate::runtime::parts::{KeptState, UserPart};
use crate::runtime::user::UserState;

/// Connections of one user, one or a few for each server.
pub(super) struct GrpcUser {
    pub(super) client: GrpcClient,
}

impl GrpcUser {
    pub(super) fn of(user: &UserState) -> Rc<Self> {
        user.part(|user| {
            let options = user.worker.loaded.settings.connections();
            Self { client: GrpcClient::new(user.network(), options) }
        })
    }
}

impl UserPart for GrpcUser {
    fn iteration_began(&self, kept: KeptState) {
        if !kept.connections {
            self.client.close();
        }
    }
}
