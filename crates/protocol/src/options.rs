//! The network settings of a worker.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use crate::address_rules::AddressRules;
use crate::admission::WorkerPosition;
use crate::allowed_hosts::AllowedHosts;
use crate::identity::{ClientIdentity, IdentityChoice};
use crate::name_resolution::NameResolution;
use crate::protocol_options::ProtocolOptions;
use crate::route::NetworkRoute;
use crate::tls_failure::TlsRemedies;
use crate::tls_offer::TlsOffer;

/// The network settings of a worker.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Accept any certificate. Only on the user's explicit request.
    pub insecure: bool,
    /// PEM files of additional trusted roots.
    pub roots: Vec<PathBuf>,
    /// Client certificates. Empty: none.
    pub identities: Vec<ClientIdentity>,
    /// Which of them a connection presents.
    pub identity_choice: IdentityChoice,
    /// The name for SNI that certificates must contain, instead of each URL's host.
    pub server_name: Option<String>,
    /// What TLS connections offer to servers.
    pub tls: TlsOffer,
    /// Every TLS connection performs a full handshake, like that of a new visitor.
    pub full_handshakes: bool,
    /// What a failure advises about a certificate that is refused.
    pub tls_remedies: TlsRemedies,
    /// Local source addresses, used in turn. Empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// Name servers to use instead of the machine's. Empty: the machine's own.
    pub name_servers: Vec<SocketAddr>,
    /// Which address of a name a connection uses. `None`: all of them in turn, as long as the name's TTL permits.
    pub resolution: Option<NameResolution>,
    /// Hosts that users may connect to. A Unix socket or a proxy on the route is always permitted.
    pub allowed_hosts: AllowedHosts,
    /// Other addresses for hosts, and what is blocked.
    pub address_rules: AddressRules,
    /// The route to every target.
    pub route: NetworkRoute,
    /// Limit on connecting to a host, once its name is known. Nanoseconds. `None`: that of the request.
    pub connect_timeout_ns: Option<u64>,
    /// Limit on new connections per second, of all workers together. Further ones wait.
    pub connections_per_second: Option<f64>,
    /// The index of this worker, for that limit and for ids that must be unique across workers.
    pub position: WorkerPosition,
    /// Settings of individual protocols.
    pub protocols: ProtocolOptions,
}
