//! All outputs of one run.

use std::net::SocketAddr;
use std::sync::Arc;

use loadstone_metrics::{Signal, SignalPoint, Snapshot};
use loadstone_plan::TestPlan;

use crate::destination::Destination;
use crate::outlet::{Outlet, OutputDelivery};
use crate::prometheus::ScrapeEndpoint;
use crate::run_labels::RunLabels;
use crate::second::OutputSecond;
use crate::sink::{OutputSetup, SinkError};
use crate::totals::OutputTotals;

/// Why an output cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{destination}: {source}")]
    Start { destination: String, source: SinkError },
    #[error("cannot serve the run's metrics on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// Passes a run's seconds on to the outputs. Nothing waits for a receiver before [`Outputs::finish`].
pub struct Outputs {
    outlets: Vec<Outlet>,
    /// The address of the scrape endpoint, and its input.
    scrape: Option<(SocketAddr, Outlet)>,
}

impl Outputs {
    /// `headers` are sent with every HTTP request, for example for authentication. `listen`: the address on which to serve `/metrics` for
    /// scraping.
    ///
    /// # Errors
    /// [`OutputError`]. A missing receiver is detected only when the first second is sent.
    pub fn start(
        to: &[Destination],
        headers: &[(String, String)],
        listen: Option<SocketAddr>,
        plan: &TestPlan,
        run: &RunLabels,
    ) -> Result<Self, OutputError> {
        let mut outlets = Vec::new();
        for destination in to {
            let setup = OutputSetup { headers, totals: OutputTotals::new(plan), run: run.clone() };
            let started = destination.sink(setup).and_then(|sink| Ok(Outlet::start(destination.to_string(), sink)?));
            outlets.push(started.map_err(|source| OutputError::Start { destination: destination.to_string(), source })?);
        }
        let serve = |address| {
            let started = ScrapeEndpoint::start(address, OutputTotals::new(plan), run.clone());
            let fed = started.and_then(|scrape| Ok((scrape.address(), Outlet::start(String::new(), Box::new(scrape))?)));
            fed.map_err(|source| OutputError::Listen { address, source })
        };
        Ok(Self { outlets, scrape: listen.map(serve).transpose()? })
    }

    /// The address of `/metrics`.
    pub fn scrape_address(&self) -> Option<SocketAddr> {
        self.scrape.as_ref().map(|(address, _)| *address)
    }

    /// Passes on a second, merged over all workers, with the last reading of each signal in it.
    pub fn push<'a>(&mut self, second: &Snapshot, signals: impl IntoIterator<Item = (&'a Signal, SignalPoint)>) {
        let feeds = self.scrape.as_mut().map(|(_, outlet)| outlet);
        let mut all = self.outlets.iter_mut().chain(feeds).peekable();
        if all.peek().is_some() {
            let signals = signals.into_iter().map(|(signal, point)| (signal.clone(), point)).collect();
            let second = Arc::new(OutputSecond { load: second.clone(), signals });
            all.for_each(|outlet| outlet.push(&second));
        }
    }

    /// Messages for the user: outputs that lost data for the first time.
    pub fn news(&mut self) -> Vec<String> {
        self.outlets.iter_mut().filter_map(Outlet::news).collect()
    }

    /// Waits at most five seconds for each output's queued data, and returns the statistics of every output.
    pub fn finish(self) -> Vec<OutputDelivery> {
        self.outlets.into_iter().map(Outlet::finish).collect()
    }
}
