//! What a stub speaks, and its description in that protocol's words. Read [`StubKind`].

use std::net::SocketAddr;

use loadstone_stub::{GrpcSpec, Server, StubError, StubSpec, StubWiring, TcpSpec};
use prost_reflect::DescriptorPool;
use serde_json::Value;

use super::{grpc, reflection};
use crate::protocols::grpc::services::Services;

#[derive(Debug)]
pub(crate) enum StubKind {
    Http(StubSpec),
    /// With the services that it describes.
    Grpc(GrpcSpec, Vec<DescriptorPool>),
    Tcp(TcpSpec),
}

impl StubKind {
    /// As a test file declares it, for messages.
    pub(super) fn said(description: &Value) -> &'static str {
        match description.get("kind").and_then(Value::as_str) {
            Some("grpc") => "stub.grpc(…)",
            Some("tcp") => "stub.tcp(…)",
            _ => "stub.http(…)",
        }
    }

    /// # Errors
    /// The part that makes no sense.
    pub(super) fn read(description: &Value, services: &Services) -> Result<Self, String> {
        let mut description = description.clone();
        let kind = description.as_object_mut().and_then(|fields| fields.remove("kind"));
        match kind.as_ref().and_then(Value::as_str) {
            Some("grpc") => grpc::spec(description, services).map(|spec| Self::Grpc(spec, services.pools())),
            Some("tcp") => TcpSpec::try_from(description).map(Self::Tcp),
            _ => StubSpec::try_from(description).map(Self::Http),
        }
    }

    pub(super) fn read_files<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        match self {
            Self::Http(spec) => spec.read_files(read),
            Self::Grpc(spec, _) => spec.read_files(read),
            Self::Tcp(spec) => spec.read_files(read),
        }
    }

    pub(super) fn check(&self) -> Result<(), StubError> {
        match self {
            Self::Http(spec) => spec.check(),
            Self::Grpc(spec, _) => spec.check(),
            Self::Tcp(spec) => spec.check(),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::Http(spec) => spec.name.clone(),
            Self::Grpc(spec, _) => spec.name.clone(),
            Self::Tcp(spec) => spec.name.clone(),
        }
    }

    pub(super) fn address(&self) -> Result<SocketAddr, StubError> {
        match self {
            Self::Http(spec) => spec.address(),
            Self::Grpc(spec, _) => spec.address(),
            Self::Tcp(spec) => spec.address(),
        }
    }

    /// Whether a function of the test file answers any of its requests.
    pub(super) fn has_functions(&self) -> bool {
        match self {
            Self::Http(spec) => spec.routes.iter().any(|route| route.handler),
            Self::Grpc(spec, _) => spec.methods.iter().any(|method| method.handler),
            Self::Tcp(spec) => spec.handler,
        }
    }

    pub(super) fn start_at(&self, wiring: StubWiring) -> Result<Server, StubError> {
        match self {
            Self::Http(spec) => spec.start_at(wiring),
            Self::Grpc(spec, pools) => spec.start_at(StubWiring { grpc_methods: reflection::methods(pools, &spec.methods), ..wiring }),
            Self::Tcp(spec) => spec.start_at(wiring),
        }
    }
}
