//! All outputs of one run.

use std::net::SocketAddr;
use std::sync::Arc;

use metrics::{Nanos, Signal, SignalPoint, Snapshot};
use plan::TestPlan;

use crate::destination::Destination;
use crate::influx::Influx;
use crate::otlp::Otlp;
use crate::outlet::{Delivery, Outlet, Sink};
use crate::prometheus::{Histograms, RemoteWrite, Scrape};
use crate::second::Second;
use crate::statsd::{Dialect, Statsd};
use crate::totals::Totals;

/// What tells runs apart where many report to one place.
#[derive(Debug, Clone)]
pub struct RunLabels {
    pub test: String,
    /// Its id: the name of its directory.
    pub run: String,
    /// Wall-clock time of the run clock's zero. Nanoseconds since 1970.
    pub started_unix_ns: u64,
}

impl RunLabels {
    pub(crate) fn labels(&self) -> impl Iterator<Item = (String, String)> {
        [("run".to_owned(), self.run.clone()), ("test".to_owned(), self.test.clone())].into_iter()
    }

    pub(crate) fn unix_ns(&self, at: Nanos) -> u64 {
        self.started_unix_ns + at
    }

    pub(crate) fn unix_ms(&self, at: Nanos) -> i64 {
        (self.unix_ns(at) / 1_000_000) as i64
    }
}

/// Why an output cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{destination}: {problem}")]
    Start { destination: String, problem: String },
    #[error("the metrics of the run cannot be served on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// Takes a run's seconds and hands them on. Nothing here waits for a receiver before [`Outputs::finish`].
pub struct Outputs {
    outlets: Vec<Outlet>,
    /// Where it is served, and what feeds it.
    scrape: Option<(SocketAddr, Outlet)>,
}

impl Outputs {
    /// `headers` go with every HTTP request: what a receiver wants to know who sends. `listen`: where to serve `/metrics` for scraping.
    ///
    /// # Errors
    /// [`OutputError`]; whether a receiver is there is seen when the first second is sent.
    pub fn start(
        to: &[Destination],
        headers: &[(String, String)],
        listen: Option<SocketAddr>,
        plan: &TestPlan,
        run: &RunLabels,
    ) -> Result<Self, OutputError> {
        let mut outlets = Vec::new();
        for destination in to {
            let failed = |problem: String| OutputError::Start { destination: destination.to_string(), problem };
            let sink = sink(destination, headers, Totals::new(plan), run.clone()).map_err(failed)?;
            outlets.push(Outlet::start(destination.to_string(), sink).map_err(|problem| failed(problem.to_string()))?);
        }
        let serve = |address| {
            let started = Scrape::start(address, Totals::new(plan), run.clone());
            let fed = started.and_then(|scrape| Ok((scrape.address(), Outlet::start(String::new(), Box::new(scrape))?)));
            fed.map_err(|source| OutputError::Listen { address, source })
        };
        Ok(Self { outlets, scrape: listen.map(serve).transpose()? })
    }

    /// Where `/metrics` is served.
    pub fn scrape_address(&self) -> Option<SocketAddr> {
        self.scrape.as_ref().map(|(address, _)| *address)
    }

    /// Hands on a second, merged over all workers, with the last reading of each signal that was read in it.
    pub fn push<'a>(&mut self, second: &Snapshot, signals: impl IntoIterator<Item = (&'a Signal, SignalPoint)>) {
        let feeds = self.scrape.as_mut().map(|(_, outlet)| outlet);
        let mut all = self.outlets.iter_mut().chain(feeds).peekable();
        if all.peek().is_some() {
            let signals = signals.into_iter().map(|(signal, point)| (signal.clone(), point)).collect();
            let second = Arc::new(Second { load: second.clone(), signals });
            all.for_each(|outlet| outlet.push(&second));
        }
    }

    /// What people should know: an output that lost something for the first time.
    pub fn news(&mut self) -> Vec<String> {
        self.outlets.iter_mut().filter_map(Outlet::news).collect()
    }

    /// Waits for what is on its way, at most five seconds for each, and says how every output fared.
    pub fn finish(self) -> Vec<Delivery> {
        self.outlets.into_iter().map(Outlet::finish).collect()
    }
}

fn sink(to: &Destination, headers: &[(String, String)], totals: Totals, run: RunLabels) -> Result<Box<dyn Sink>, String> {
    Ok(match to {
        Destination::Prometheus(url) => Box::new(RemoteWrite::new(url, headers, totals, run, Histograms::Classic)?),
        Destination::PrometheusNative(url) => Box::new(RemoteWrite::new(url, headers, totals, run, Histograms::Native)?),
        Destination::Otlp(url) => Box::new(Otlp::new(url, headers, totals, run)?),
        Destination::Influx(url) => Box::new(Influx::new(url, headers, totals, run)?),
        Destination::Statsd(to) => Box::new(Statsd::new(*to, Dialect::Plain, totals, run).map_err(|problem| problem.to_string())?),
        Destination::DogStatsd(to) => Box::new(Statsd::new(*to, Dialect::Datadog, totals, run).map_err(|problem| problem.to_string())?),
    })
}
