//! Opens a connection: looks the name up, tries its addresses, and performs the TLS handshake. Each step is timed and limited by the request's timer.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use loadstone_metrics::clock::Timer;
use loadstone_metrics::{Outcome, Phases};
use loadstone_platform::tcp::{choose_port_late, stream_socket};
use nix::sys::socket::{AddressFamily, SockaddrStorage, bind};
use tokio::net::UnixStream;

use crate::failure::{Failure, FailureDetail};
use crate::network::Network;
use crate::route::NetworkRoute;
use crate::stream::{NetworkStream, RawSocket};
use crate::target::ConnectTarget;
use crate::tcp::Tcp;
use crate::tunnel;

/// Delay after which the next address is tried in parallel with one that has not answered (RFC 8305, section 5).
const ATTEMPT_DELAY_NS: u64 = 250_000_000;

/// Connects, and records in `phases` how long each step took, also if it fails. `limit` is the request's timer.
pub(crate) async fn connect(
    network: &Network,
    target: ConnectTarget<'_>,
    limit: &Timer,
    phases: &mut Phases,
) -> Result<NetworkStream, Failure> {
    network.check_host(target.host, target.port)?;
    let clock = network.clock();
    let proxy = match network.route() {
        NetworkRoute::Proxies(rules) => rules.proxy_for(target.scheme, target.host),
        _ => None,
    };
    let socket = match (network.route(), proxy) {
        (NetworkRoute::Unix(_), _) if target.source.is_some() => {
            return Err(Failure::unsendable("a Unix socket has no local address: remove `source`"));
        }
        (NetworkRoute::Unix(path), _) => {
            let begun = clock.now();
            let connected = within(limit, "connecting", UnixStream::connect(path)).await;
            phases.connect = clock.now() - begun;
            RawSocket::unix(connected?.map_err(|error| unix_failure(&error))?)
        }
        (_, None) => establish(network, (target.host, target.port), target.source, limit, phases).await?,
        (_, Some(proxy)) => {
            let through = |failure: Failure| Failure::new(failure.outcome, format!("proxy: {}", failure.message));
            let mut socket = establish(network, (&proxy.host, proxy.port), target.source, limit, phases).await.map_err(through)?;
            if tunnel::is_needed(target) {
                let begun = clock.now();
                let opened = within(limit, "opening the proxy's tunnel", tunnel::open(network, proxy, &mut socket, target)).await;
                phases.connect += clock.now() - begun;
                opened??;
            }
            socket
        }
    };
    let Some(alpn) = target.alpn else { return Ok(NetworkStream::Plain(socket)) };
    let begun = clock.now();
    let secured = within(limit, "in the TLS handshake", network.secure(target.host, socket, alpn)).await;
    phases.tls = clock.now() - begun;
    Ok(NetworkStream::Tls(Box::new(secured??)))
}

/// Looks a name up and connects to one of its addresses.
async fn establish(
    network: &Network,
    (host, port): (&str, u16),
    source: Option<IpAddr>,
    limit: &Timer,
    phases: &mut Phases,
) -> Result<RawSocket, Failure> {
    let clock = network.clock();
    let rules = network.address_rules();
    let (address, port) = rules.route(host, port)?;
    let begun = clock.now();
    let looked_up = match address {
        Some(address) => Ok(Ok(vec![address])),
        None => within(limit, "looking up the name", network.resolver.resolve(host)).await,
    };
    let resolved = clock.now();
    // A literal address needs no look-up. A few nanoseconds of parsing are not a phase.
    if address.is_none() && host.parse::<IpAddr>().is_err() {
        phases.dns = resolved - begun;
    }
    let addresses = looked_up??;
    rules.check(host, &addresses)?;
    let answer = first_to_answer(network, &addresses, port, source);
    let connected = match network.connect_timeout_ns() {
        None => within(limit, "connecting", answer).await.and_then(|connected| connected),
        Some(limit_ns) => {
            let own_limit = clock.timer();
            own_limit.reset(resolved.saturating_add(limit_ns));
            let answer = within(limit, "connecting", within(&own_limit, "connecting", answer)).await;
            answer.and_then(|answer| answer.map_err(|late| late.with(FailureDetail::ConnectTimeout))).and_then(|connected| connected)
        }
    };
    phases.connect = clock.now() - resolved;
    Ok(RawSocket::Tcp(connected?))
}

fn unix_failure(error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::ENOENT) => Failure::new(Outcome::Connect, "no Unix socket exists at this path"),
        Some(libc::EACCES) => Failure::new(Outcome::Connect, "this user lacks permission to open the Unix socket"),
        // The listener's queue is full. TCP would have waited.
        Some(libc::EAGAIN) => Failure::new(Outcome::Refused, "the Unix socket's queue of connections is full"),
        _ => Failure::connecting(error),
    }
}

/// The future's result, or the timeout failure when the timer is due.
pub(crate) async fn within<T>(limit: &Timer, doing: &str, future: impl Future<Output = T>) -> Result<T, Failure> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        limit.poll_due(context).map(|()| Err(Failure::timeout(doing)))
    })
    .await
}

/// Tries the addresses in order, the next one as soon as one fails or is slow, and returns the first that connects.
async fn first_to_answer(network: &Network, addresses: &[IpAddr], port: u16, source: Option<IpAddr>) -> Result<Tcp, Failure> {
    if let [address] = addresses {
        return attempt(network, *address, port, source).await;
    }
    let mut waiting = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    let mut first_failure = None;
    let delay = network.clock().timer();
    loop {
        match waiting.next() {
            Some(address) => {
                attempts.push(attempt(network, *address, port, source));
                delay.reset(network.clock().now().saturating_add(ATTEMPT_DELAY_NS));
            }
            None => delay.reset(u64::MAX),
        }
        // `None`: the delay is over, or no attempt is left to wait for.
        let attempted = poll_fn(|context| match attempts.poll_next_unpin(context) {
            Poll::Ready(attempted) => Poll::Ready(attempted),
            Poll::Pending => delay.poll_due(context).map(|()| None),
        })
        .await;
        match attempted {
            Some(Ok(stream)) => return Ok(stream),
            // Another address does not resolve a shortage of the generator.
            Some(Err(failure)) if failure.outcome == Outcome::DescriptorsExhausted => return Err(failure),
            // An address for which there is no source address says nothing about the others.
            Some(Err(failure)) => {
                first_failure = Some(first_failure.filter(|first: &Failure| first.outcome != Outcome::Unsendable).unwrap_or(failure))
            }
            None => {}
        }
        if attempts.is_empty() && waiting.len() == 0 {
            return Err(first_failure.unwrap_or_else(|| Failure::new(Outcome::Connect, "no address to connect to")));
        }
    }
}

async fn attempt(network: &Network, address: IpAddr, port: u16, source: Option<IpAddr>) -> Result<Tcp, Failure> {
    let source = network.source_for(address, source)?;
    let socket = open(address, source)?;
    Tcp::connect(network.clock(), socket, SocketAddr::new(address, port)).await.map_err(|error| {
        network.resolver.shun(address);
        Failure::connecting(&error)
    })
}

/// A non-blocking socket, bound to the source address if there is one.
fn open(address: IpAddr, source: Option<IpAddr>) -> Result<OwnedFd, Failure> {
    let failed = |error: io::Error| Failure::connecting(&error);
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = stream_socket(family).map_err(failed)?;
    if let Some(source) = source {
        choose_port_late(&socket).map_err(failed)?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(source, 0))).map_err(|error| binding(error.into()))?;
    }
    Ok(socket)
}

/// Why a socket cannot have its source address.
pub(crate) fn binding(error: io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => Failure::unsendable("a source address is not an address of this machine"),
        _ => Failure::connecting(&error),
    }
}
