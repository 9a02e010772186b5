//! HTTP state that a network stores, and HTTP settings.

use std::rc::Rc;

use super::message::Origin;
use super::trace::{TraceSeed, Traces};
use crate::network::Network;

/// The HTTP versions that a client uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Versions {
    #[default]
    Http1,
    /// HTTP/2 if TLS negotiates it (ALPN), otherwise HTTP/1.1.
    Http2,
    /// HTTP/2 without negotiation, also without TLS.
    Http2Always,
}

/// The HTTP settings of a network ([`ProtocolOptions`](crate::ProtocolOptions)).
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The HTTP versions that its clients use.
    pub versions: Versions,
    /// The source of trace ids. If set, requests carry a `traceparent`.
    pub traces: Option<TraceSeed>,
}

/// The state that all clients of a network share.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) versions: Versions,
    pub(crate) traces: Option<Traces>,
    /// The address of the proxy that forwards plain requests.
    pub(crate) forwarder: Option<Rc<Origin>>,
}

impl HttpState {
    pub(crate) fn of(network: &Network) -> Rc<Self> {
        network.state(|options| {
            let HttpOptions { versions, traces } = options.protocols.get();
            let forwarder = options.route.forwarder().map(|proxy| Rc::new(proxy.origin()));
            Self { versions, traces: traces.map(|seed| Traces::new(seed, options.position.worker)), forwarder }
        })
    }
}
