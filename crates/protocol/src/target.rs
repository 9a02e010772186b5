//! What a connection is made to.

use crate::tls::Alpn;

/// Where to connect to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectTarget<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// With TLS, offering these protocols; `None`: plain.
    pub(crate) alpn: Option<Alpn>,
    /// A proxy must not read along: the connection changes its protocol.
    pub(crate) tunnel: bool,
}
