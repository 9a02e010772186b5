//! An open connection, counted as long as it exists.

use std::rc::Rc;

use loadstone_metrics::clock::Timer;

use crate::network::Network;
use crate::peer::ConnectionPeer;
use crate::stream::NetworkStream;

/// Counts a connection as open as long as the value exists.
#[derive(Debug)]
pub(crate) struct Counted {
    network: Rc<Network>,
    peer: Rc<ConnectionPeer>,
}

impl Counted {
    fn new(network: &Rc<Network>, peer: ConnectionPeer) -> Self {
        network.count(|counts| {
            counts.open += 1;
            counts.opened += 1;
        });
        Self { network: Rc::clone(network), peer: Rc::new(peer) }
    }

    pub(crate) fn network(&self) -> &Rc<Network> {
        &self.network
    }

    pub(crate) fn peer(&self) -> Rc<ConnectionPeer> {
        Rc::clone(&self.peer)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.network.count(|counts| counts.open -= 1);
    }
}

/// An open connection and its state.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: NetworkStream,
    /// For the time limits of all its requests: postponing a queued timer costs one store.
    pub(crate) timer: Timer,
    /// Its latest response was small, was read at once and had a kernel timestamp. The next response may therefore be read late.
    pub(crate) may_be_late: bool,
    pub(crate) counted: Counted,
}

impl Connection {
    pub(crate) fn new(network: &Rc<Network>, stream: NetworkStream, timer: Timer) -> Box<Self> {
        let counted = Counted::new(network, ConnectionPeer::of(&stream));
        Box::new(Self { stream, timer, may_be_late: false, counted })
    }

    /// Sets whether its reads take the kernel's timestamp from now on. The delay with which this program noticed the connection counts where its
    /// first read is counted.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        if let Some(lag_ns) = self.stream.take_connect_lag_ns()
            && stamped
        {
            self.counted.network().read_after(lag_ns);
        }
        self.stream.stamp(stamped);
    }
}
