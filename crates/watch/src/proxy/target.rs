//! Opens connections to the only place to which a proxy forwards.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use loadstone_metrics::Outcome;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client, server};

use super::spec::{ProxyTarget, TargetScheme};
use super::stamped::{ReadWait, StampedTcp};
use super::tls;
use crate::error::WatchError;

/// Time to open a connection, and for its handshake.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(10);

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

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct ConnectFailure {
    pub(super) outcome: Outcome,
    pub(super) message: String,
}

/// The target of a proxy that runs.
pub(super) struct ProxyDestination {
    pub(super) shown: String,
    addresses: Vec<SocketAddr>,
    /// The address that was reached last.
    preferred: Cell<usize>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl ProxyDestination {
    /// Looks the name up, once for the whole run.
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
        Ok(Self { shown: target.shown.clone(), addresses: found.collect(), preferred: Cell::new(0), tls })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<(Box<dyn ProxyStream>, ReadWait), ConnectFailure> {
        let failed = |outcome, message: String| ConnectFailure { outcome, message };
        let no_time = |_| failed(Outcome::Timeout, format!("no connection to {} within 10 s", self.shown));
        let stream = tokio::time::timeout(CONNECT_WITHIN, self.reach()).await.map_err(no_time)?.map_err(|error| {
            let outcome = if error.kind() == ErrorKind::ConnectionRefused { Outcome::Refused } else { Outcome::Connect };
            let error = loadstone_units::text::without_os_numbers(&error.to_string()).to_lowercase();
            failed(outcome, format!("cannot connect to {}: {error}", self.shown))
        })?;
        let (stream, wait) = StampedTcp::new(stream);
        let Some((connector, name)) = &self.tls else { return Ok((Box::new(stream), wait)) };
        let secured = tokio::time::timeout(CONNECT_WITHIN, connector.connect(name.clone(), stream)).await.map_err(no_time)?;
        let secured = secured.map_err(|error| failed(Outcome::Tls, format!("TLS with {} failed: {error}", self.shown)))?;
        Ok((Box::new(secured), wait))
    }

    /// Tries all addresses of the name.
    async fn reach(&self) -> io::Result<TcpStream> {
        let mut last = Err(ErrorKind::AddrNotAvailable.into());
        for step in 0..self.addresses.len() {
            let index = (self.preferred.get() + step) % self.addresses.len();
            last = TcpStream::connect(self.addresses[index]).await;
            if last.is_ok() {
                self.preferred.set(index);
                break;
            }
        }
        last
    }
}
