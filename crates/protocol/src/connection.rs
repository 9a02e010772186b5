//! An open connection, counted for as long as it lives.

use std::rc::Rc;

use loadstone_metrics::clock::Timer;

use crate::network::Network;
use crate::stream::NetworkStream;

/// Counts a connection as open for as long as it lives.
#[derive(Debug)]
pub(crate) struct Counted {
    network: Rc<Network>,
}

impl Counted {
    fn new(network: &Rc<Network>) -> Self {
        network.count(|counts| {
            counts.open += 1;
            counts.opened += 1;
        });
        Self { network: Rc::clone(network) }
    }

    pub(crate) fn network(&self) -> &Rc<Network> {
        &self.network
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.network.count(|counts| counts.open -= 1);
    }
}

/// An open connection and what belongs to it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: NetworkStream,
    /// Serves the time limits of all its requests: setting a queued timer later costs one store.
    pub(crate) timer: Timer,
    /// Its latest response was small, was read at once and had the kernel's stamp: the next may be read late.
    pub(crate) may_be_late: bool,
    pub(crate) counted: Counted,
}

impl Connection {
    pub(crate) fn new(network: &Rc<Network>, stream: NetworkStream, timer: Timer) -> Box<Self> {
        Box::new(Self { stream, timer, may_be_late: false, counted: Counted::new(network) })
    }

    /// Whether its reads take the kernel's stamp from now on. How late this program was to see that it was connected counts where its first read does.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        if let Some(lag_ns) = self.stream.take_connect_lag_ns()
            && stamped
        {
            self.counted.network().read_after(lag_ns);
        }
        self.stream.stamp(stamped);
    }
}
