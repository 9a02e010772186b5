//! What all connections of one worker share: clock, resolver, TLS settings, scratch buffer, source addresses.

use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;

use metrics::clock::Clock;
use thiserror::Error;

/// How a worker reaches the network.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Accept any certificate. Only by the user's explicit word.
    pub insecure: bool,
    /// PEM files of additional trusted roots.
    pub roots: Vec<PathBuf>,
    /// PEM files of a client certificate chain and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Local addresses to connect from, taken in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
}

#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("{path}: {problem}")]
    File { path: PathBuf, problem: String },
}

/// One worker's share of the network. Not `Send`.
#[derive(Debug)]
pub struct Network {
    pub(crate) clock: Clock,
    pub(crate) options: NetworkOptions,
}

impl Network {
    pub fn new(clock: Clock, options: NetworkOptions) -> Result<Rc<Self>, NetworkError> {
        Ok(Rc::new(Self { clock, options }))
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}
