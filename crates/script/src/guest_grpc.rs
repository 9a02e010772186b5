//! What another script runtime uses of gRPC: services from files or from the server, and messages as JSON.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use loadstone_protocol::grpc::{GrpcClient, GrpcRequest};
use prost_reflect::{DescriptorPool, MethodDescriptor};

use crate::data::protos::{ProtoSource, compile};
use crate::protocols::grpc::json::{decode, of_json};
use crate::protocols::grpc::reflection;
use crate::protocols::grpc::services::Services;

/// Descriptors of services. A clone shares them.
#[derive(Debug, Clone)]
pub struct GuestProtos(DescriptorPool);

impl GuestProtos {
    /// Compiles a `.proto` file. `imports`: the folders in which it finds its imports.
    ///
    /// # Errors
    /// A file that cannot be read or compiled.
    pub fn of_file(path: &Path, imports: &[PathBuf]) -> Result<Self, String> {
        let source = ProtoSource { path: path.to_owned(), imports: imports.to_vec() };
        compile(&source).map(Self).map_err(|error| error.to_string())
    }

    /// Reads a FileDescriptorSet, as `protoc --descriptor_set_out` writes it.
    ///
    /// # Errors
    /// The bytes are none, or lack an import.
    pub fn of_descriptor_set(bytes: &[u8]) -> Result<Self, String> {
        DescriptorPool::decode(bytes).map(Self).map_err(|error| error.to_string())
    }

    /// The files that it was compiled from. `imports`: the folders in which it found its imports.
    pub fn files(&self, imports: &[PathBuf]) -> Vec<PathBuf> {
        let found = |name: &str| imports.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        self.0.files().filter_map(|file| found(file.name())).collect()
    }

    /// `package.Service/Method`, and whether its requests and responses are streams.
    pub fn methods(&self) -> Vec<(String, bool, bool)> {
        let methods = self.0.services().flat_map(|service| service.methods().collect::<Vec<_>>());
        let shown = |method: MethodDescriptor| {
            let name = format!("{}/{}", method.parent_service().full_name(), method.name());
            (name, method.is_client_streaming(), method.is_server_streaming())
        };
        methods.map(shown).collect()
    }
}

/// The services that a client knows. It knows the health check without a file.
pub struct GuestServices(Services);

impl Default for GuestServices {
    fn default() -> Self {
        Self(Services::of(Vec::new()))
    }
}

impl std::fmt::Debug for GuestServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuestServices").finish_non_exhaustive()
    }
}

impl GuestServices {
    pub fn add(&self, protos: GuestProtos) {
        self.0.learn(protos.0);
    }

    /// Whether the service of `package.Service/Method` is known.
    pub fn knows(&self, method: &str) -> bool {
        service_of(method).is_none_or(|service| self.0.service(service).is_some())
    }

    /// Asks the server for the service of a method (server reflection). `request`: the server and the metadata.
    ///
    /// # Errors
    /// The server does not describe it.
    pub async fn learn(&self, client: &GrpcClient, request: GrpcRequest, method: &str, timeout_ns: u64) -> Result<(), String> {
        let Some(service) = service_of(method) else { return Ok(()) };
        reflection::describe(client, request, service, timeout_ns).await.map(|pool| self.0.learn(pool))
    }

    /// # Errors
    /// Names the known services or methods if there is none of this name.
    pub fn method(&self, name: &str) -> Result<GuestMethod, String> {
        self.0.method(name).map(GuestMethod)
    }
}

fn service_of(name: &str) -> Option<&str> {
    name.strip_prefix('/').unwrap_or(name).split_once('/').map(|(service, _)| service)
}

/// A method of a service.
#[derive(Debug, Clone)]
pub struct GuestMethod(MethodDescriptor);

impl GuestMethod {
    /// `/package.Service/Method`.
    pub fn path(&self) -> String {
        format!("/{}/{}", self.0.parent_service().full_name(), self.0.name())
    }

    /// `Service/Method`: its name in reports.
    pub fn shown(&self) -> String {
        format!("{}/{}", self.0.parent_service().name(), self.0.name())
    }

    pub fn is_unary(&self) -> bool {
        !self.0.is_client_streaming() && !self.0.is_server_streaming()
    }

    /// Whether the client sends several messages.
    pub fn streams_requests(&self) -> bool {
        self.0.is_client_streaming()
    }

    /// A request, encoded.
    ///
    /// # Errors
    /// Which field does not fit, and what its type expects.
    pub fn encode(&self, json: &str) -> Result<Vec<u8>, String> {
        of_json(&self.0.input(), json)
    }

    /// A response as JSON: fields in camel case, unset fields with their defaults.
    ///
    /// # Errors
    /// The part that does not fit the type.
    pub fn decode(&self, message: Bytes) -> Result<String, String> {
        decode(&self.0.output(), message)
    }
}
