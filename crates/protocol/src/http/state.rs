//! What HTTP keeps for one network, and what is set of it.

use std::rc::Rc;

use super::trace::{TraceSeed, Traces};
use crate::network::Network;

/// Which versions of HTTP a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Versions {
    #[default]
    Http1,
    /// HTTP/2 where TLS agrees on it (ALPN), else HTTP/1.1.
    Http2,
    /// HTTP/2 without asking, also without TLS.
    Http2Always,
}

/// What a network's options say of HTTP ([`ProtocolOptions`](crate::ProtocolOptions)).
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Which versions of HTTP its clients speak.
    pub versions: Versions,
    /// Requests carry a `traceparent`, with ids from here.
    pub traces: Option<TraceSeed>,
}

/// What all clients of a network share.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) versions: Versions,
    pub(crate) traces: Option<Traces>,
}

impl HttpState {
    pub(crate) fn of(network: &Network) -> Rc<Self> {
        network.state(|options| {
            let HttpOptions { versions, traces } = options.protocols.get();
            Self { versions, traces: traces.map(|seed| Traces::new(seed, options.position.worker)) }
        })
    }
}
