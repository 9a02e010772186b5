//! How a worker reaches the network, as its owner sets it.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use thiserror::Error;

use crate::admission::WorkerPosition;
use crate::protocol_options::ProtocolOptions;
use crate::route::NetworkRoute;

/// How a worker reaches the network.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Accept any certificate. Only by the user's explicit word.
    pub insecure: bool,
    /// PEM files of additional trusted roots.
    pub roots: Vec<PathBuf>,
    /// PEM files of a client certificate chain and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Name that TLS asks for (SNI) and certificates must carry, in place of each URL's host.
    pub server_name: Option<String>,
    /// Every TLS connection makes a full handshake, as that of a visitor who was never there.
    pub full_handshakes: bool,
    /// Local addresses to connect from, taken in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// Name servers to ask instead of the machine's; empty: its own.
    pub name_servers: Vec<SocketAddr>,
    /// The way to every target.
    pub route: NetworkRoute,
    /// Most new connections per second, of all workers together; further ones wait.
    pub connections_per_second: Option<f64>,
    /// Which worker this is, for that limit and for ids that no two workers may share.
    pub position: WorkerPosition,
    /// What is set of single protocols.
    pub protocols: ProtocolOptions,
}

/// A setting that cannot be used.
#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("{path}: {problem}")]
    File { path: PathBuf, problem: String },
    #[error("\"{0}\" is not a server name: write a host name, such as \"www.example.org\"")]
    ServerName(String),
}
