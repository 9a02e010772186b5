//! One user's connections.

use std::rc::Rc;

use super::{Exchange, Request};
use crate::Network;

/// How one user's connections behave.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Keep connections open between requests (and iterations).
    pub keep_alive: bool,
    /// Most connections to one origin at once; further parallel requests wait.
    pub connections_max: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { keep_alive: true, connections_max: 6 }
    }
}

/// One virtual user's HTTP client: a few kept-alive connections per origin.
#[derive(Debug)]
pub struct Client {
    network: Rc<Network>,
    options: ClientOptions,
}

impl Client {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        Self { network, options }
    }

    /// Sends a request and reads its answer. A failing target is data: this never errs.
    pub async fn send(&self, request: &Request) -> Exchange {
        let _ = (&self.network, &self.options, request);
        unimplemented!()
    }

    /// Closes all kept connections.
    pub fn close(&self) {}
}
