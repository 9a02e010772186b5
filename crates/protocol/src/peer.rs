//! The other end of a connection.

use std::net::SocketAddr;

use rustls::ProtocolVersion;

use crate::stream::NetworkStream;

/// The other end of a connection: the server, or a proxy before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionPeer {
    /// `None` for a Unix socket.
    pub address: Option<SocketAddr>,
    pub tls: Option<TlsSession>,
}

/// What both ends of a TLS connection agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSession {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// Its name in IANA's registry, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
}

impl ConnectionPeer {
    pub(crate) fn of(stream: &NetworkStream) -> Self {
        match stream {
            NetworkStream::Plain(socket) => Self { address: socket.peer(), tls: None },
            NetworkStream::Tls(stream) => {
                let (socket, connection) = stream.get_ref();
                let version = if connection.protocol_version() == Some(ProtocolVersion::TLSv1_2) { "1.2" } else { "1.3" };
                let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
                // rustls marks the suites of TLS 1.3, whose names begin as all others do.
                let cipher_suite = suite.unwrap_or_default().replacen("TLS13_", "TLS_", 1);
                Self { address: socket.peer(), tls: Some(TlsSession { version, cipher_suite }) }
            }
        }
    }
}
