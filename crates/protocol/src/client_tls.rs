//! TLS settings of one client.

use crate::identity::ClientIdentity;

/// TLS settings of one client, in place of those of its network.
#[derive(Debug, Clone, Default)]
pub struct ClientTls {
    /// PEM of the only authorities that the client trusts. Empty: those of the network.
    pub authorities: Vec<String>,
    /// What the authorities are called in messages.
    pub place: String,
    /// What helps against a certificate of another authority. `None`: as in the network.
    pub trust_issuer: Option<&'static str>,
    /// The client certificate. `None`: those of the network.
    pub identity: Option<ClientIdentity>,
    /// The name for SNI that the certificate must contain. `None`: that of the network, or the host.
    pub server_name: Option<String>,
}
