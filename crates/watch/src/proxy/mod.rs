//! Loadstone's own proxy between a load tool and the system, which records each request through it.
//!
//! Read [`HttpProxy`] first, then `connection`, `forward` (the two directions of a connection) and `framing` (where messages begin and end). It forwards the
//! bytes as they are, to one target, with one connection for each of the clients'. A request's time begins when its first byte arrived and ends when the last
//! byte of its response was sent on; what the proxy itself adds is measured by the kernel's timestamps. Clients and target are not trusted: no bytes of
//! theirs can make it hang, or hold more than a piece and a head for each direction of a connection. Deliberately absent: HTTP/2, caching, retries.

mod connection;
mod exchange;
mod forward;
mod framing;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
pub(crate) mod record;
pub(crate) mod spec;
mod stamped;
mod target;
#[cfg(test)]
mod tests;
mod tls;

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as BoundListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use crate::error::WatchError;
use connection::ServingProxy;
use record::{ProxyRecord, ProxyRecords, WAITING_MAX};
use spec::{ProxyChoice, TargetScheme};
use target::ProxyDestination;

/// Clients that are served at a time. Further ones wait in the queue of the system.
const CONNECTIONS_MAX: usize = 20_000;
/// Pause after a failed accept, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A proxy. Clients can connect from [`HttpProxy::listen`] on, and are served from [`HttpProxy::begin`] on. Dropping it ends all connections.
pub(crate) struct HttpProxy {
    address: SocketAddr,
    spec: ProxyChoice,
    waiting: Option<WaitingProxy>,
    end: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// What its thread needs.
struct WaitingProxy {
    listener: BoundListener,
    destination: ProxyDestination,
    acceptor: Option<TlsAcceptor>,
    records: mpsc::Sender<ProxyRecord>,
    open: Arc<AtomicU64>,
}

impl HttpProxy {
    /// # Errors
    /// The address is not free, the target has no address, or the file of the authority cannot be written.
    pub(crate) fn listen(spec: ProxyChoice) -> Result<(Self, ProxyRecords), WatchError> {
        let listen = |address: SocketAddr| {
            let listener = BoundListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let destination = ProxyDestination::of(&spec.target)?;
        let problem = |problem: io::Error| WatchError::Proxy { address: spec.listen, problem };
        let (address, listener) = listen(spec.listen).map_err(problem)?;
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let names = names.chain([spec.listen.ip().to_string(), spec.target.host.clone()]).collect();
        let acceptor = spec.ca.as_deref().map(|file| tls::acceptor(file, names)).transpose()?;
        let (sender, records) = mpsc::channel(WAITING_MAX);
        let open = Arc::<AtomicU64>::default();
        let waiting = WaitingProxy { listener, destination, acceptor, records: sender, open: Arc::clone(&open) };
        Ok((Self { address, spec, waiting: Some(waiting), end: None, thread: None }, ProxyRecords { records, open }))
    }

    /// The URL that the tool is to use, and the one of the system.
    pub(crate) fn urls(&self) -> (String, &str) {
        let scheme = match (self.spec.target.scheme, &self.spec.ca) {
            (TargetScheme::Tcp, _) => "tcp",
            (_, Some(_)) => "https",
            (_, None) => "http",
        };
        (format!("{scheme}://{}", self.address), &self.spec.target.shown)
    }

    /// Serves its clients, on a thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(crate) fn begin(&mut self, zero: Monotonic) -> io::Result<()> {
        let Some(WaitingProxy { listener, destination, acceptor, records, open }) = self.waiting.take() else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (authority, is_opaque) = (self.spec.target.authority.clone(), self.spec.target.scheme == TargetScheme::Tcp);
        let (end, ended) = oneshot::channel();
        let serve = move || {
            let has_refused_tls = Cell::new(false);
            let state = Rc::new(ServingProxy { zero, destination, authority, is_opaque, acceptor, records, open, has_refused_tls });
            LocalSet::new().block_on(&runtime, async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    never = accept(listener, state) => match never {},
                    _ = ended => {}
                }
            });
        };
        self.thread = Some(std::thread::Builder::new().name("proxy".to_owned()).spawn(serve)?);
        self.end = Some(end);
        Ok(())
    }
}

impl HttpProxy {
    /// Ends all connections. Their last requests are recorded.
    pub(crate) fn end(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        self.end();
    }
}

/// Accepts connections until it is dropped.
async fn accept(listener: TcpListener, state: Rc<ServingProxy>) -> Infallible {
    let (mut has_failed, mut has_been_full) = (false, false);
    let places = Rc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        if places.available_permits() == 0 && !std::mem::replace(&mut has_been_full, true) {
            let why = format!("the proxy serves {CONNECTIONS_MAX} connections, and more clients waited");
            let _ = state.records.try_send(ProxyRecord::NotRecorded(why));
        }
        // Nobody closes the semaphore.
        let Ok(place) = places.acquire().await else { return std::future::pending().await };
        match listener.accept().await {
            Ok((stream, _)) => {
                place.forget();
                let (state, places) = (Rc::clone(&state), Rc::clone(&places));
                drop(tokio::task::spawn_local(async move {
                    state.serve(stream).await;
                    places.add_permits(1);
                }));
            }
            Err(problem) => {
                if !std::mem::replace(&mut has_failed, true) {
                    let problem = loadstone_units::text::without_os_numbers(&problem.to_string()).to_lowercase();
                    let why =
                        format!("the proxy could not accept a connection ({problem}): clients waited. Raise the limit with `ulimit -n`");
                    let _ = state.records.try_send(ProxyRecord::NotRecorded(why));
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
