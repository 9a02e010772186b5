//! Opens connections to the only place to which a proxy forwards.
//!
//! The name of the target is looked up before the run, so that a wrong one is an error, and again while connections are opened, as load tools do: a service
//! may move, and a load balancer adds addresses under load. A failed lookup leaves the known addresses.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client, server};

use super::spec::{ProxyTarget, TargetScheme};
use super::stamped::{StampedSocket, StampedTcp};
use super::tls;
use crate::error::WatchError;

/// Time to open a connection, and for its handshake.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// A connection that is opened later than this after the last lookup starts another one. It uses the addresses that are known. Nanoseconds.
const LOOKUP_EVERY_NS: Nanos = 5_000_000_000;

/// A connection of either side.
pub(super) trait ProxyStream: AsyncRead + AsyncWrite + Unpin {
    /// Its end is to be one that the peer did not plan.
    fn resets_at_end(&self);
}

impl ProxyStream for StampedTcp {
    fn resets_at_end(&self) {
        self.resets_at_end();
    }
}

impl ProxyStream for client::TlsStream<StampedTcp> {
    fn resets_at_end(&self) {
        self.get_ref().0.resets_at_end();
    }
}

impl ProxyStream for server::TlsStream<StampedTcp> {
    fn resets_at_end(&self) {
        self.get_ref().0.resets_at_end();
    }
}

/// A connection and its socket.
pub(super) type ProxySide = (Box<dyn ProxyStream>, Rc<StampedSocket>);

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct ConnectFailure {
    pub(super) outcome: Outcome,
    pub(super) message: String,
}

/// The target of a proxy that runs.
pub(super) struct ProxyDestination {
    pub(super) shown: String,
    /// Without brackets, and the port.
    name: (String, u16),
    addresses: Arc<Mutex<Vec<SocketAddr>>>,
    clock: Monotonic,
    /// On that clock.
    looked_up_at: Cell<Nanos>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl ProxyDestination {
    /// Looks the name up.
    ///
    /// # Errors
    /// There is no such name, or TLS cannot be set up.
    pub(super) fn of(target: &ProxyTarget) -> Result<Self, WatchError> {
        let problem = |problem: String| WatchError::Command { what: format!("--record proxy, {}", target.shown), problem };
        let found = (target.host.as_str(), target.port).to_socket_addrs();
        let found = found.map_err(|_| problem(format!("the name {} cannot be resolved: check it", target.host)))?;
        let tls = match target.scheme {
            TargetScheme::Https => {
                let name = ServerName::try_from(target.host.clone()).map_err(|error| problem(format!("no name for TLS: {error}")))?;
                Some((tls::connector().map_err(|error| problem(format!("cannot set up TLS: {error}")))?, name))
            }
            TargetScheme::Http | TargetScheme::Tcp => None,
        };
        let addresses = Arc::new(Mutex::new(found.collect()));
        let name = (target.host.clone(), target.port);
        Ok(Self { shown: target.shown.clone(), name, addresses, clock: Monotonic::start(), looked_up_at: Cell::default(), tls })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<ProxySide, ConnectFailure> {
        let failed = |outcome, message: String| ConnectFailure { outcome, message };
        let no_time = || failed(Outcome::Timeout, format!("no connection to {} within 10 s", self.shown));
        let stream = self.reach().await.map_err(|error| {
            let outcome = match error.kind() {
                ErrorKind::ConnectionRefused => Outcome::Refused,
                ErrorKind::TimedOut => return no_time(),
                _ => Outcome::Connect,
            };
            let error = loadstone_units::text::without_os_numbers(&error.to_string()).to_lowercase();
            failed(outcome, format!("cannot connect to {}: {error}", self.shown))
        })?;
        let (stream, socket) = StampedTcp::new(stream);
        let Some((connector, name)) = &self.tls else { return Ok((Box::new(stream), socket)) };
        let secured = tokio::time::timeout(CONNECT_WITHIN, connector.connect(name.clone(), stream)).await.map_err(|_| no_time())?;
        let secured = secured.map_err(|error| failed(Outcome::Tls, format!("TLS with {} failed: {error}", self.shown)))?;
        Ok((Box::new(secured), socket))
    }

    /// Tries all addresses of the name, in the order of the lookup. One that was reached after others failed is tried first from then on.
    async fn reach(&self) -> io::Result<TcpStream> {
        self.look_up_again();
        let addresses = self.known().clone();
        let within = CONNECT_WITHIN / addresses.len().max(1) as u32;
        let mut last = Err(ErrorKind::AddrNotAvailable.into());
        for (index, address) in addresses.iter().enumerate() {
            last = tokio::time::timeout(within, TcpStream::connect(address)).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
            if last.is_ok() {
                if index > 0 {
                    self.known().sort_by_key(|known| known != address);
                }
                break;
            }
        }
        last
    }

    fn known(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a lookup if the last one is too old. On a thread, because the system's resolver may take seconds.
    fn look_up_again(&self) {
        let now = self.clock.now();
        if now < self.looked_up_at.get() + LOOKUP_EVERY_NS {
            return;
        }
        self.looked_up_at.set(now);
        let (name, addresses) = (self.name.clone(), Arc::clone(&self.addresses));
        let look_up = move || {
            let found: Vec<SocketAddr> = name.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            if !found.is_empty() {
                *addresses.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
        };
        // Without a thread, the known addresses are used.
        let _ = std::thread::Builder::new().name("proxy-lookup".to_owned()).spawn(look_up);
    }
}
