//! What all connections of one worker share: clock, resolver, TLS settings, scratch buffers, source addresses.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;

use metrics::clock::Clock;
use metrics::{GeneratorSlice, Histogram};
use thiserror::Error;

use crate::admission::{Admission, Share};
use crate::dns::Resolver;
use crate::http::{TraceSeed, Traces, Versions};
use crate::random;
use crate::route::Route;
use crate::sampling::Sampling;
use crate::tcp::Stamping;
use crate::tls::Tls;
use crate::ws::Deflate;

/// One read takes at most this much. An answer that arrives whole is parsed where it was read, so connections that
/// wait own no buffer.
const SCRATCH_BYTES: usize = 64 * 1024;

/// A send buffer that has grown beyond this is not kept for the next request.
const SEND_BUFFER_KEPT_BYTES_MAX: usize = 256 * 1024;

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
    pub route: Route,
    /// Which versions of HTTP its clients speak.
    pub versions: Versions,
    /// Requests carry a `traceparent`, with ids from here.
    pub traces: Option<TraceSeed>,
    /// Most new connections per second, of all workers together; further ones wait.
    pub connections_per_second: Option<f64>,
    /// Which worker this is, for that limit and for the ids.
    pub share: Share,
}

/// A setting that cannot be used.
#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("{path}: {problem}")]
    File { path: PathBuf, problem: String },
    #[error("\"{0}\" is no server name: write a host name, such as \"www.example.org\"")]
    ServerName(String),
}

/// Connections of one worker, for the recorder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open now.
    pub open: u64,
    /// Opened since the start.
    pub opened: u64,
    /// Requests sent again because the kept-alive connection they went out on had just been closed.
    pub retried: u64,
}

/// One worker's share of the network. Not `Send`.
pub struct Network {
    clock: Clock,
    options: NetworkOptions,
    admission: Option<Admission>,
    pub(crate) traces: Option<Traces>,
    pub(crate) resolver: Resolver,
    pub(crate) tls: Tls,
    scratch: RefCell<Box<[u8]>>,
    send_buffer: Cell<Vec<u8>>,
    source_next: Cell<usize>,
    /// Compression of WebSocket messages; made when first used.
    deflate: RefCell<Option<Box<Deflate>>>,
    random: Cell<u64>,
    counts: Cell<ConnectionCounts>,
    /// Connections opened that [`Network::count_into`] has told of.
    told: Cell<u64>,
    read_lag: RefCell<Histogram>,
    stamping: Option<Stamping>,
    sampling: Sampling,
}

impl Network {
    /// Reads the PEM files named in the options; everything else is set up when first needed.
    pub fn new(clock: Clock, options: NetworkOptions) -> Result<Rc<Self>, NetworkError> {
        let tls = Tls::new(&options)?;
        Ok(Rc::new(Self {
            resolver: Resolver::new(clock.clone(), options.name_servers.clone()),
            clock,
            tls,
            admission: options.connections_per_second.map(|rate| Admission::new(rate, options.share)),
            traces: options.traces.map(|seed| Traces::new(seed, options.share.worker)),
            options,
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            send_buffer: Cell::default(),
            source_next: Cell::default(),
            deflate: RefCell::default(),
            random: Cell::new(random::STEP),
            counts: Cell::default(),
            told: Cell::default(),
            read_lag: RefCell::default(),
            stamping: Stamping::begin(),
            sampling: Sampling::default(),
        }))
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn connections(&self) -> ConnectionCounts {
        self.counts.get()
    }

    /// Writes down what was counted since the last call, a second ago.
    pub fn count_into(&self, slice: &mut GeneratorSlice) {
        let counts = self.counts.get();
        slice.connections = counts.open;
        slice.connections_opened += counts.opened - self.told.replace(counts.opened);
        let mut read_lag = self.read_lag.borrow_mut();
        if !read_lag.is_empty() {
            slice.read_lag.merge(&read_lag);
            read_lag.clear();
        }
        self.sampling.next_second();
    }

    /// Notes how long an answer, or a message that was waited for, had lain in the kernel when it was read.
    pub(crate) fn read_after(&self, lag_ns: u64) {
        self.read_lag.borrow_mut().record(lag_ns);
    }

    /// Whether the next answer is to be read with the kernel's stamp.
    pub(crate) fn takes_stamp(&self) -> bool {
        self.stamping.is_some() && self.sampling.takes(|| self.random())
    }

    pub(crate) fn route(&self) -> &Route {
        &self.options.route
    }

    pub(crate) fn versions(&self) -> Versions {
        self.options.versions
    }

    /// New connections wait for their turn: see [`Network::admit`].
    pub fn limits_connections(&self) -> bool {
        self.admission.is_some()
    }

    /// Waits until one more connection may be opened, and keeps that right for the next one. Who calls it before a request begins has the
    /// wait in none of the request's times; a connection that nobody called it for waits as part of its request.
    pub async fn admit(&self) {
        if let Some(admission) = &self.admission {
            admission.reserve(&self.clock).await;
        }
    }

    pub(crate) async fn enter(&self) {
        if let Some(admission) = &self.admission {
            admission.enter(&self.clock).await;
        }
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut ConnectionCounts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// The worker's read buffer. The borrow must end before the caller yields.
    pub(crate) fn scratch(&self) -> std::cell::RefMut<'_, Box<[u8]>> {
        self.scratch.borrow_mut()
    }

    /// An empty buffer to build a request in; give it back with [`Network::return_send_buffer`] once it is sent.
    pub(crate) fn take_send_buffer(&self) -> Vec<u8> {
        self.send_buffer.take()
    }

    pub(crate) fn return_send_buffer(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= SEND_BUFFER_KEPT_BYTES_MAX {
            buffer.clear();
            self.send_buffer.set(buffer);
        }
    }

    /// The worker's message compressor. The borrow must end before the caller yields.
    pub(crate) fn deflate(&self) -> std::cell::RefMut<'_, Deflate> {
        std::cell::RefMut::map(self.deflate.borrow_mut(), |deflate| &mut **deflate.get_or_insert_default())
    }

    /// A number that does not repeat soon.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(random::STEP);
        self.random.set(state);
        random::mix(state)
    }

    /// The next local address to connect from that can reach `to`.
    pub(crate) fn source_for(&self, to: IpAddr) -> Option<IpAddr> {
        let sources = &self.options.sources;
        let turn = self.source_next.get();
        self.source_next.set(turn.wrapping_add(1));
        (0..sources.len()).map(|i| sources[turn.wrapping_add(i) % sources.len()]).find(|source| source.is_ipv4() == to.is_ipv4())
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("options", &self.options).field("counts", &self.counts).finish_non_exhaustive()
    }
}
