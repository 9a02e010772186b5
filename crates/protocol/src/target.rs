//! The destination of a connection.

use std::net::IpAddr;

use crate::proxies::ProxiedScheme;
use crate::tls::Alpn;

/// The destination of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectTarget<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// With TLS, offering these protocols. `None`: plain.
    pub(crate) alpn: Option<Alpn>,
    /// The connection needs a tunnel through a proxy, since it changes its protocol.
    pub(crate) tunnel: bool,
    /// Selects the proxy.
    pub(crate) scheme: ProxiedScheme,
    /// The local address. `None`: as the network's options say.
    pub(crate) source: Option<IpAddr>,
}
