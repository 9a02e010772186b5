//! The clients of `k6/net/grpc`: their services, and where they send their calls.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::span::RequestLabel;
use loadstone_protocol::grpc::{GrpcClient, GrpcRequest};
use loadstone_protocol::http::Origin;
use loadstone_script::{GuestMethod, GuestServices};
use rquickjs::{Ctx, Exception};

use crate::numbered::Numbered;
use crate::turn::Turn;

/// Shown by errors outside of an iteration.
pub(super) const WHAT: &str = "a gRPC call";

/// A client of the script.
#[derive(Default)]
pub(super) struct ScriptClient {
    pub(super) services: GuestServices,
    pub(super) connected: RefCell<Option<Rc<ConnectedClient>>>,
}

/// Where a client sends its calls.
pub(super) struct ConnectedClient {
    pub(super) client: GrpcClient,
    pub(super) origin: Rc<Origin>,
    /// `:authority`, in place of the address.
    pub(super) authority: Option<String>,
    pub(super) reflects: bool,
    pub(super) reflection_metadata: Vec<(String, String)>,
    pub(super) message_bytes_max: u64,
    /// Limit on a message that is sent. `None`: no limit.
    pub(super) sent_bytes_max: Option<u64>,
}

pub(super) type ScriptClients = Rc<Numbered<ScriptClient>>;

pub(super) fn client_of(ctx: &Ctx<'_>, clients: &ScriptClients, number: u32) -> rquickjs::Result<Rc<ScriptClient>> {
    clients.get(number).ok_or_else(|| Exception::throw_message(ctx, "this is not a gRPC client"))
}

pub(super) fn metadata_of(lines: Vec<Vec<String>>) -> Vec<(String, String)> {
    lines
        .into_iter()
        .filter_map(|line| <[String; 2]>::try_from(line).ok())
        .map(|[name, value]| (name.to_ascii_lowercase(), value))
        .collect()
}

impl ConnectedClient {
    pub(super) fn request(&self, path: &str, mut metadata: Vec<(String, String)>, timeout_ns: Option<u64>) -> GrpcRequest {
        // HTTP/2 sends it as `:authority`.
        metadata.extend(self.authority.iter().map(|authority| ("host".to_owned(), authority.clone())));
        GrpcRequest {
            origin: Rc::clone(&self.origin),
            path: path.into(),
            metadata,
            timeout_ns,
            gzip: false,
            message_bytes_max: self.message_bytes_max,
            label: RequestLabel::default(),
            source: None,
        }
    }

    /// Why a message is not sent: it is larger than `maxSendSize`. The text is that of Go's client.
    pub(super) fn refuses(&self, message: &[u8]) -> Option<String> {
        let most = self.sent_bytes_max.filter(|most| message.len() as u64 > *most)?;
        Some(format!("trying to send message larger than max ({} vs. {most})", message.len()))
    }

    /// k6's tag `url`.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}:{}{path}", self.origin.host, self.origin.port)
    }
}

/// The connection and the method of a call. A server with reflection is asked for a service that is unknown.
pub(super) fn method_of(
    ctx: &Ctx<'_>,
    turn: &mut Turn,
    clients: &ScriptClients,
    number: u32,
    name: &str,
) -> rquickjs::Result<(Rc<ConnectedClient>, GuestMethod)> {
    let client = client_of(ctx, clients, number)?;
    let connected = client.connected.borrow().clone();
    let connected = connected.ok_or_else(|| Exception::throw_message(ctx, "no gRPC connection, you must call connect first"))?;
    if connected.reflects && !client.services.knows(name) {
        let limit_ns = turn.vu().worker.test.plan.options.request_timeout_ns;
        let request = connected.request("/", connected.reflection_metadata.clone(), Some(limit_ns));
        let learning = client.services.learn(&connected.client, request, name, limit_ns);
        turn.wait(ctx, learning)?.map_err(|problem| Exception::throw_message(ctx, &problem))?;
    }
    let found = client.services.method(name).map_err(|problem| {
        let remedy = "load its .proto file with client.load(), or connect with { reflect: true }";
        Exception::throw_message(
            ctx,
            &format!("method \"{name}\" not found: {}; {remedy}", problem.split(": declare it").next().unwrap_or_default()),
        )
    });
    found.map(|method| (connected, method))
}

/// A message of the script, encoded.
pub(super) fn encoded(ctx: &Ctx<'_>, method: &GuestMethod, json: &str) -> rquickjs::Result<Bytes> {
    method.encode(json).map(Bytes::from).map_err(|problem| Exception::throw_message(ctx, &format!("{}: {problem}", method.shown())))
}
