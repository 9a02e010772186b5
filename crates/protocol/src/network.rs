//! State that all connections of one worker share: clock, resolver, TLS settings, scratch buffers, source addresses.
//!
//! Deliberately absent: protocols. Each stores its state for a network in its own slot: see [`Network::state`].

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::rc::Rc;

use loadstone_metrics::clock::Clock;
use loadstone_metrics::{GeneratorSlice, Histogram, Nanos};
use rustls::HandshakeKind;
use tokio_rustls::client::TlsStream;

use crate::address_rules::AddressRules;
use crate::admission::Admission;
use crate::client_tls::ClientTls;
use crate::dns::Resolver;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::http1::KnownHeads;
use crate::late_reads::LateReads;
use crate::network_error::NetworkError;
use crate::options::NetworkOptions;
use crate::random;
use crate::route::NetworkRoute;
use crate::sampling::Sampling;
use crate::stream::RawSocket;
use crate::tcp::Stamping;
use crate::tls::{Alpn, Tls};

/// Limit on one read. A response that arrives whole is parsed in the scratch buffer, so a waiting connection owns no buffer.
const SCRATCH_BYTES: usize = 64 * 1024;

/// A larger send buffer is not kept for the next request.
const SEND_BUFFER_RETAINED_BYTES_MAX: usize = 256 * 1024;

/// Connections of one worker, for the recorder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Open now.
    pub open: u64,
    /// Opened since the start.
    pub opened: u64,
    /// TLS handshakes that succeeded since the start, and those of them that resumed a session.
    pub tls_handshakes: u64,
    pub tls_resumed: u64,
    /// Bytes of responses read since the start, including responses in progress.
    pub received: u64,
}

/// One worker's access to the network, with one of its client certificates. Not `Send`.
pub struct Network {
    shared: Rc<NetworkState>,
    tls: Rc<Tls>,
}

/// What the connections of one worker share, independent of their client certificates.
pub struct NetworkState {
    clock: Clock,
    options: NetworkOptions,
    admission: Option<Admission>,
    pub(crate) resolver: Resolver,
    /// One for each client certificate.
    tls: Vec<Rc<Tls>>,
    scratch: RefCell<Box<[u8]>>,
    send_buffer: Cell<Vec<u8>>,
    source_next: Cell<usize>,
    extensions: Extensions,
    random: Cell<u64>,
    counts: Cell<ConnectionCounts>,
    /// The counts that [`Network::count_into`] has already reported.
    reported: Cell<ConnectionCounts>,
    read_lag: RefCell<Histogram>,
    stamping: Option<Stamping>,
    sampling: Sampling,
    pub(crate) late_reads: LateReads,
    pub(crate) known_heads: RefCell<KnownHeads>,
}

impl Network {
    /// Reads the files named in the options. Everything else is set up at its first use.
    pub fn new(clock: Clock, options: NetworkOptions) -> Result<Rc<Self>, NetworkError> {
        let tls = Tls::all(&options)?;
        let first = Rc::clone(&tls[0]);
        let shared = NetworkState {
            resolver: Resolver::new(clock.clone(), &options),
            clock,
            tls,
            admission: options.connections_per_second.map(|rate| Admission::new(rate, options.position)),
            options,
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            send_buffer: Cell::default(),
            source_next: Cell::default(),
            extensions: Extensions::default(),
            random: Cell::new(random::STEP),
            counts: Cell::default(),
            reported: Cell::default(),
            read_lag: RefCell::default(),
            stamping: Stamping::begin(),
            sampling: Sampling::default(),
            late_reads: LateReads::default(),
            known_heads: RefCell::default(),
        };
        Ok(Rc::new(Self { shared: Rc::new(shared), tls: first }))
    }

    /// The same network, with the client certificate of the user of this number.
    pub fn of_user(self: &Rc<Self>, number: u64) -> Rc<Self> {
        match self.shared.tls.as_slice() {
            [_] => Rc::clone(self),
            several => {
                let tls = &several[(number % several.len() as u64) as usize];
                Rc::new(Self { shared: Rc::clone(&self.shared), tls: Rc::clone(tls) })
            }
        }
    }

    /// The same network, with other TLS settings.
    ///
    /// # Errors
    /// A certificate, a key or a name cannot be used.
    pub fn with_tls(&self, own: &ClientTls) -> Result<Rc<Self>, NetworkError> {
        Ok(Rc::new(Self { shared: Rc::clone(&self.shared), tls: Rc::new(self.tls.with(own)?) }))
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn connections(&self) -> ConnectionCounts {
        self.counts.get()
    }

    /// Adds the counts since the last call, which was a second ago.
    pub fn count_into(&self, slice: &mut GeneratorSlice) {
        let counts = self.counts.get();
        slice.connections = counts.open;
        let reported = self.reported.replace(counts);
        slice.connections_opened += counts.opened - reported.opened;
        slice.tls_handshakes += counts.tls_handshakes - reported.tls_handshakes;
        slice.tls_resumed += counts.tls_resumed - reported.tls_resumed;
        slice.bytes_received += counts.received - reported.received;
        let mut read_lag = self.read_lag.borrow_mut();
        if !read_lag.is_empty() {
            slice.read_lag.merge(&read_lag);
            read_lag.clear();
        }
        self.sampling.next_second();
    }

    /// A protocol's state for this network, created from the options at its first use. Call it once for each connection or user.
    pub(crate) fn state<T: 'static>(&self, make: impl FnOnce(&NetworkOptions) -> T) -> Rc<T> {
        self.extensions.get_or_insert(|| make(&self.options))
    }

    /// Records how long a response, or an expected message, had been in the kernel when it was read.
    pub(crate) fn read_after(&self, lag_ns: u64) {
        self.read_lag.borrow_mut().record(lag_ns);
    }

    /// Whether to read the next response with the kernel's timestamp.
    pub(crate) fn takes_stamp(&self) -> bool {
        self.stamping.is_some() && self.sampling.takes(|| self.random())
    }

    /// Sets whether responses to subsequent requests may be read late, if the kernel reports when they arrived.
    pub fn allow_late_reads(&self, allowed: bool) {
        self.late_reads.allow(allowed && self.stamping.is_some());
    }

    /// Sets how long a response waits that may be read late. Default: [`loadstone_metrics::LATE_READ_MAX_NS`].
    pub fn limit_late_reads(&self, max_ns: Nanos) {
        self.late_reads.limit(max_ns);
    }

    /// Number of requests whose response is pending and may be read late.
    pub fn late_reads(&self) -> u64 {
        self.late_reads.waiting()
    }

    /// # Errors
    /// Users may not connect to this host. A Unix socket replaces all hosts, so nothing is refused then.
    pub(crate) fn check_host(&self, host: &str, port: u16) -> Result<(), Failure> {
        match self.options.route {
            NetworkRoute::Unix(_) => Ok(()),
            NetworkRoute::Direct | NetworkRoute::Proxies(_) => self.options.allowed_hosts.check(host, port),
        }
    }

    /// The same for datagrams, which take no route.
    pub(crate) fn check_datagram_host(&self, host: &str, port: u16) -> Result<(), Failure> {
        self.options.allowed_hosts.check(host, port)
    }

    pub(crate) fn connect_timeout_ns(&self) -> Option<u64> {
        self.options.connect_timeout_ns
    }

    pub(crate) fn address_rules(&self) -> &AddressRules {
        &self.options.address_rules
    }

    pub(crate) fn route(&self) -> &NetworkRoute {
        &self.options.route
    }

    /// Whether new connections wait for a slot: see [`Network::admit`].
    pub fn limits_connections(&self) -> bool {
        self.admission.is_some()
    }

    /// Waits until one more connection may be opened, and reserves that slot for the next one. If a caller awaits this before a request begins, the
    /// wait is in none of the request's times. Without a reservation, a connection waits as part of its request.
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

    /// A TLS handshake: as part of a new connection, or later on a plain one.
    pub(crate) async fn secure(&self, host: &str, socket: RawSocket, alpn: Alpn) -> Result<TlsStream<RawSocket>, Failure> {
        let stream = self.tls.handshake(host, socket, alpn).await?;
        let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
        self.count(|counts| {
            counts.tls_handshakes += 1;
            counts.tls_resumed += u64::from(is_resumed);
        });
        Ok(stream)
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

    /// An empty buffer in which to encode a request. Return it with [`Network::return_send_buffer`] when it is sent.
    pub(crate) fn take_send_buffer(&self) -> Vec<u8> {
        self.send_buffer.take()
    }

    pub(crate) fn return_send_buffer(&self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= SEND_BUFFER_RETAINED_BYTES_MAX {
            buffer.clear();
            self.send_buffer.set(buffer);
        }
    }

    /// A number that does not repeat soon.
    pub(crate) fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(random::STEP);
        self.random.set(state);
        random::mix(state)
    }

    /// The local address for a connection to `to`: `own`, or else the next of the network's. `None`: the kernel chooses.
    ///
    /// # Errors
    /// All of them are of the other family.
    pub(crate) fn source_for(&self, to: IpAddr, own: Option<IpAddr>) -> Result<Option<IpAddr>, Failure> {
        let (family, other) = if to.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
        if let Some(own) = own {
            let misfit = || format!("the target has an {family} address, but `source` is {own}, an {other} address: name one of {family}");
            return if own.is_ipv4() == to.is_ipv4() { Ok(Some(own)) } else { Err(Failure::unsendable(misfit())) };
        }
        let sources = &self.options.sources;
        if sources.is_empty() {
            return Ok(None);
        }
        let turn = self.source_next.get();
        self.source_next.set(turn.wrapping_add(1));
        let found =
            (0..sources.len()).map(|i| sources[turn.wrapping_add(i) % sources.len()]).find(|source| source.is_ipv4() == to.is_ipv4());
        let missing = || Failure::unsendable(format!("the target has an {family} address, but all source addresses are {other}"));
        found.map(Some).ok_or_else(missing)
    }
}

impl Deref for Network {
    type Target = NetworkState;

    fn deref(&self) -> &NetworkState {
        &self.shared
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("options", &self.options).field("counts", &self.counts).finish_non_exhaustive()
    }
}
