//! A name server with configurable addresses, times to live, answer delays and address changes.
//!
//! Read [`DnsSpec`] (all of it as plain data), then [`DnsServer`]. `zone` has the answers, `counts` the questions. Messages are hickory's.
//! Deliberately absent: records other than addresses, zones above a name, and recursion.

mod counts;
mod names;
mod serve;
mod zone;

use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde::Deserialize;

pub use counts::NameSecond;
pub use names::{DnsMove, DnsName};

use crate::clock::now_ns;
use crate::{BehaviourError, Delay, SecondCounts, StubError};
use counts::LookupCounts;
use serve::Served;
use zone::Zone;

/// Where it listens, and its answers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsSpec {
    /// Name in reports.
    pub name: String,
    /// `"127.0.0.53:53"`. It listens on UDP and TCP.
    pub listen: String,
    pub names: Vec<DnsName>,
    /// Time until an answer, written as a [`Delay`].
    #[serde(default)]
    pub delay: Option<String>,
    /// Share of the UDP questions that receive no answer.
    #[serde(default)]
    pub loss: f64,
    /// Seed of every draw; 0 counts as 1.
    #[serde(default)]
    pub seed: u64,
}

/// A name server, on its own thread. Dropping it ends it.
#[derive(Debug)]
pub struct DnsServer {
    address: SocketAddr,
    counts: Arc<Mutex<LookupCounts>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DnsSpec {
    /// Checks everything except whether the address is free.
    ///
    /// # Errors
    /// Names the part that is wrong.
    pub fn check(&self) -> Result<(), StubError> {
        self.address()?;
        self.delay()?;
        Zone::new(&self.names).map(drop)
    }

    /// # Errors
    /// As [`DnsSpec::check`], and when the address is not free.
    pub fn start(&self) -> Result<DnsServer, StubError> {
        let (address, delay, zone) = (self.address()?, self.delay()?, Zone::new(&self.names)?);
        let counts = Arc::new(Mutex::new(LookupCounts::new(zone.names())));
        let served = Served { zone, delay, loss: self.loss, seed: self.seed.max(1), counts: Arc::clone(&counts) };
        let (report, started) = sync_channel(1);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::Builder::new().name("dns".to_owned());
        let thread = thread.spawn(move || serve::run(address, served, stopped, &report)).map_err(StubError::Thread)?;
        // The thread always reports before it serves. Silence means that it panicked.
        let listens = started.recv().unwrap_or_else(|_| Err(std::io::Error::other("it ended at once")));
        let listens = listens.map_err(|source| StubError::Listen { address, source })?;
        Ok(DnsServer { address: listens, counts, stop: Some(stop), thread: Some(thread) })
    }

    fn address(&self) -> Result<SocketAddr, StubError> {
        self.listen.parse().map_err(|_| StubError::Address { listen: self.listen.clone() })
    }

    fn delay(&self) -> Result<Option<Delay>, StubError> {
        let parsed = self.delay.as_deref().map(str::parse).transpose();
        parsed.map_err(|problem| StubError::Description(BehaviourError::Delay(problem)))
    }
}

impl DnsServer {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The run begins at this instant of CLOCK_MONOTONIC. Seconds are counted from it, and names change after it.
    pub fn begin(&self, origin_ns: u64) {
        self.counts().begin(origin_ns, now_ns());
    }

    /// The seconds that have ended since the last call.
    pub fn seconds(&self) -> Vec<SecondCounts> {
        self.counts().take(now_ns())
    }

    /// The same seconds by name.
    pub fn names(&self) -> Vec<NameSecond> {
        self.counts().take_names()
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, LookupCounts> {
        // Counts are consistent at any instant.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
