//! A server on its own thread.
//!
//! Read [`Server::builder`] and [`ServerBuilder::start`]. Deliberately absent: request handling, which is in `serve`.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use crate::clock::now_ns;
use crate::connection::converse;
use crate::endpoint::Endpoint;
use crate::recording::CallRecorder;
use crate::route::RoutePattern;
use crate::timer::DeadlineTimer;
use crate::visit::ServerState;
use crate::{Behaviour, Recording, SecondCounts, SeededRandom, StubError, TcpTalk, TlsOptions, tls};

/// Time limit for answered connections to close.
const CLOSING: Duration = Duration::from_millis(200);

/// Collects routes and options; [`ServerBuilder::start`] runs them.
#[derive(Debug)]
pub struct ServerBuilder {
    listen: SocketAddr,
    listener: Option<std::net::TcpListener>,
    routes: Vec<(Route, Behaviour)>,
    /// Replaces HTTP.
    tcp: Option<TcpTalk>,
    tls: Option<TlsOptions>,
    seed: u64,
    drain: Duration,
    spin_ns: u64,
    is_awake: bool,
    streams_max: Option<u32>,
    number: usize,
}

/// A running server. Dropping it stops it, see [`Server::stop`], and waits for that.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    certificate_pem: Option<String>,
    control: Option<mpsc::Sender<ServerOrder>>,
    thread: Option<JoinHandle<()>>,
}

/// An endpoint's route, as written or already parsed.
#[derive(Debug)]
enum Route {
    Pattern(String),
    Known(RoutePattern),
}

enum ServerOrder {
    Read(SyncSender<Recording>),
    /// Counts per second from this instant on.
    Count(u64),
    Seconds(SyncSender<Vec<SecondCounts>>),
}

impl ServerBuilder {
    /// The address to listen on. Default: 127.0.0.1 on any free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// A socket that already listens, which replaces [`ServerBuilder::listen`].
    pub fn listener(mut self, listener: std::net::TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Adds an endpoint: `"GET /products/:id"`, `"* /health"`, `"POST /files/*"`. The first that matches serves.
    pub fn route(mut self, route: &str, behaviour: Behaviour) -> Self {
        self.routes.push((Route::Pattern(route.to_owned()), behaviour));
        self
    }

    /// Adds a gRPC method, `package.Service/Method`, see [`Behaviour::grpc`].
    pub fn grpc_method(mut self, method: &str, behaviour: Behaviour) -> Self {
        self.routes.push((Route::Known(RoutePattern::of_method(method)), behaviour));
        self
    }

    /// Speaks plain TCP or TLS: each request is answered with the behaviour's body. The server then has no routes.
    pub fn tcp(mut self, talk: TcpTalk, behaviour: Behaviour) -> Self {
        self.tcp = Some(talk);
        self.routes = vec![(Route::Known(RoutePattern::any()), behaviour)];
        self
    }

    /// Speaks TLS with a certificate that is generated at the start.
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = Some(options);
        self
    }

    /// Seed of every draw of this server. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// After the request to stop: how long the server continues for its open calls, and again for calls that arrive meanwhile. Default: 200
    /// ms.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Yields for up to this time before each response instead of sleeping: more precise timing at the cost of CPU time.
    pub fn spin_ns(mut self, spin_ns: u64) -> Self {
        self.spin_ns = spin_ns;
        self
    }

    /// Never sleeps, so no arrival and no response waits for a core to wake up. Uses a whole core.
    pub fn awake(mut self, is_awake: bool) -> Self {
        self.is_awake = is_awake;
        self
    }

    /// Streams that a connection of HTTP/2 may have open at a time (SETTINGS_MAX_CONCURRENT_STREAMS). Default: no limit.
    pub fn streams_max(mut self, streams: u32) -> Self {
        self.streams_max = Some(streams);
        self
    }

    /// The value of [`crate::Call::server`].
    pub fn number(mut self, number: usize) -> Self {
        self.number = number;
        self
    }

    /// Binds and serves.
    ///
    /// # Errors
    /// A route or behaviour is invalid, or the address is not free.
    pub fn start(self) -> Result<Server, StubError> {
        let acceptor = self.tls.as_ref().map(tls::acceptor).transpose()?;
        let (acceptor, certificate_pem) = acceptor.unzip();
        let (control, orders) = mpsc::channel(8);
        let (report, started) = sync_channel(1);
        let thread = std::thread::Builder::new().name("stub".to_owned());
        let thread = thread.spawn(move || run(self, acceptor, orders, &report)).map_err(StubError::Thread)?;
        // The thread always reports before it serves. Silence means that it panicked.
        let address = started.recv().unwrap_or_else(|_| Err(StubError::Thread(std::io::Error::other("it ended at once"))))?;
        Ok(Server { address, certificate_pem, control: Some(control), thread: Some(thread) })
    }
}

impl Server {
    pub fn builder() -> ServerBuilder {
        ServerBuilder {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            listener: None,
            routes: Vec::new(),
            tcp: None,
            tls: None,
            seed: 1,
            drain: Duration::from_millis(200),
            spin_ns: 0,
            is_awake: false,
            streams_max: None,
            number: 0,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to stop. The server continues until it holds no call, for at most the drain time, because a waiting caller may soon need
    /// another answer. Then it accepts nothing new, and its open calls have the drain time again. Calls that are never answered do not
    /// delay it further.
    pub fn stop(&mut self) {
        self.control = None;
    }

    /// The server's URL followed by this path, which starts with a slash.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.certificate_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// The certificate a client must trust, when the server speaks TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// What the server has received so far. Blocks until its thread answers. Do not call it from a task on a runtime thread that must not
    /// block.
    pub fn recording(&self) -> Recording {
        let (reply, recording) = sync_channel(1);
        let asked = self.control.as_ref().is_some_and(|control| control.blocking_send(ServerOrder::Read(reply)).is_ok());
        if asked { recording.recv().unwrap_or_default() } else { Recording::default() }
    }

    /// Counts each second separately from this instant on, for [`Server::seconds`]. `origin_ns`: CLOCK_MONOTONIC.
    pub fn count_seconds(&self, origin_ns: u64) {
        if let Some(control) = &self.control {
            let _ = control.blocking_send(ServerOrder::Count(origin_ns));
        }
    }

    /// The seconds that have ended since the last call. Blocks like [`Server::recording`].
    pub fn seconds(&self) -> Vec<SecondCounts> {
        let (reply, seconds) = sync_channel(1);
        let asked = self.control.as_ref().is_some_and(|control| control.blocking_send(ServerOrder::Seconds(reply)).is_ok());
        if asked { seconds.recv().unwrap_or_default() } else { Vec::new() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    builder: ServerBuilder,
    acceptor: Option<TlsAcceptor>,
    orders: mpsc::Receiver<ServerOrder>,
    report: &SyncSender<Result<SocketAddr, StubError>>,
) {
    // With a spin, the descriptor queue is polled after every task, so that a spinning timer delays no arrival.
    let spins = builder.spin_ns > 0 || builder.is_awake;
    let event_interval = if spins { 1 } else { 61 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().event_interval(event_interval).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(source) => return drop(report.send(Err(StubError::Thread(source)))),
    };
    let drain = builder.drain;
    LocalSet::new().block_on(&runtime, async {
        if builder.is_awake {
            tokio::task::spawn_local(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
        }
        match set_up(builder) {
            Ok((listener, state, address)) => {
                let _ = report.send(Ok(address));
                serve_until_dropped(listener, acceptor, state, orders, drain).await;
            }
            Err(problem) => drop(report.send(Err(problem))),
        }
    });
}

fn set_up(builder: ServerBuilder) -> Result<(TcpListener, Rc<ServerState>, SocketAddr), StubError> {
    let started_ns = now_ns();
    let mut endpoints = Vec::with_capacity(builder.routes.len());
    for (route, behaviour) in builder.routes {
        let (text, pattern) = match route {
            Route::Known(pattern) => (pattern.text().to_owned(), Ok(pattern)),
            Route::Pattern(text) => {
                let pattern = RoutePattern::parse(&text);
                (text, pattern)
            }
        };
        let endpoint = pattern.and_then(|pattern| Endpoint::new(pattern, behaviour, started_ns));
        endpoints.push(endpoint.map_err(|problem| StubError::Endpoint { route: text, problem })?);
    }
    let recorder = RefCell::new(CallRecorder::new(started_ns, endpoints.iter().map(|endpoint| endpoint.route.text().to_owned())));
    let timer = DeadlineTimer::new(builder.spin_ns).map_err(StubError::Thread)?;
    let random = RefCell::new(SeededRandom::from_seed(builder.seed));
    let held = Rc::default();
    let (number, streams_max) = (builder.number, builder.streams_max);
    let state = Rc::new(ServerState { endpoints, recorder, random, timer, held, started_ns, number, streams_max, tcp: builder.tcp });
    if let Some(listener) = builder.listener {
        let taken = listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
        let taken = taken.and_then(|listener| listener.local_addr().map(|address| (listener, address)));
        let (listener, address) = taken.map_err(|source| StubError::Listen { address: builder.listen, source })?;
        return Ok((listener, state, address));
    }
    let listen = || {
        let socket = if builder.listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(builder.listen)?;
        // Long enough for a load that opens thousands of connections at once.
        let listener = socket.listen(16_384)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let (listener, address) = listen().map_err(|source| StubError::Listen { address: builder.listen, source })?;
    Ok((listener, state, address))
}

/// Serves until no sender of commands is left, then stops as [`Server::stop`] describes.
async fn serve_until_dropped(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    state: Rc<ServerState>,
    orders: mpsc::Receiver<ServerOrder>,
    drain: Duration,
) {
    let (stop, stopping) = watch::channel(false);
    let driver = tokio::task::spawn_local(state.timer.clone().drive());
    let intake = Intake { listener, acceptor, state: Rc::clone(&state), stopping };
    tokio::select! {
        () = intake.take() => {}
        () = obey(orders, &state) => {}
    }
    let quiet = async {
        tokio::select! {
            () = intake.take() => {}
            () = state.held.none() => {}
        }
    };
    let _ = tokio::time::timeout(drain, quiet).await;
    drop(intake);
    let _ = stop.send(true);
    let _ = tokio::time::timeout(drain, state.held.none()).await;
    // Each connection holds a receiver until it ends.
    let _ = tokio::time::timeout(CLOSING, stop.closed()).await;
    driver.abort();
}

/// The source of connections.
struct Intake {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    state: Rc<ServerState>,
    stopping: watch::Receiver<bool>,
}

impl Intake {
    /// Accepts connections forever.
    async fn take(&self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    self.state.recorder.borrow_mut().connected();
                    let (acceptor, state, stopping) = (self.acceptor.clone(), Rc::clone(&self.state), self.stopping.clone());
                    tokio::task::spawn_local(async move {
                        converse(stream, acceptor, Rc::clone(&state), stopping).await;
                        state.recorder.borrow_mut().disconnected();
                    });
                }
                // Usually out of descriptors: let other connections close first.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

/// Executes commands until no sender of commands is left.
async fn obey(mut orders: mpsc::Receiver<ServerOrder>, state: &ServerState) {
    while let Some(order) = orders.recv().await {
        match order {
            ServerOrder::Count(origin_ns) => state.recorder.borrow_mut().count_seconds(origin_ns),
            ServerOrder::Seconds(reply) => drop(reply.try_send(state.recorder.borrow_mut().seconds(now_ns()))),
            ServerOrder::Read(reply) => drop(reply.try_send(state.recorder.borrow_mut().read(now_ns()))),
        }
    }
}
