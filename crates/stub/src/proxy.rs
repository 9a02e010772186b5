//! A TCP proxy between a system and its dependency. It delays, throttles or resets the traffic.
//!
//! Read [`TcpProxy`]. The delay applies to one direction, from the client. A request and its answer wait for it once, whatever their size.
//! Bytes that follow each other closely share the delay. Deliberately absent: the protocol of the bytes.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::clock::now_ns;
use crate::limit::Link;
use crate::timer::DeadlineTimer;
use crate::{SeededRandom, StubError};

/// Maximum size of one read.
const PIECE: usize = 16 << 10;
/// Maximum number of queued pieces per direction. When the queue is full, the sender waits.
const PIECES_MAX: usize = 256;

/// Its address, its destination, and its initial behaviour.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProxySpec {
    /// `"127.0.0.1:6432"`
    pub listen: String,
    pub to: String,
    #[serde(flatten)]
    pub effects: ProxyEffects,
}

/// What a proxy does to its present and future connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct ProxyEffects {
    /// Added to every round trip. Nanoseconds.
    #[serde(default)]
    pub delay_ns: u64,
    /// Shared by all connections, in each direction.
    #[serde(default)]
    pub bytes_per_second: Option<u64>,
    /// Share of new connections that are reset when their first bytes arrive.
    #[serde(default)]
    pub resets: f64,
}

/// A proxy, on its own thread. Dropping it closes every connection through it.
#[derive(Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    orders: Option<mpsc::Sender<ProxyEffects>>,
    thread: Option<JoinHandle<()>>,
}

impl TcpProxy {
    /// # Errors
    /// An invalid address, or one that is not free.
    pub fn start(spec: &ProxySpec) -> Result<Self, StubError> {
        let address_of = |text: &str| {
            let resolved = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
            resolved.ok_or_else(|| StubError::Address { listen: text.to_owned() })
        };
        let (listen, to) = (address_of(&spec.listen)?, address_of(&spec.to)?);
        let (orders, taken) = mpsc::channel(8);
        let (report, started) = sync_channel(1);
        let effects = spec.effects;
        let thread = std::thread::Builder::new().name("proxy".to_owned());
        let thread = thread.spawn(move || run((listen, to), effects, taken, &report)).map_err(StubError::Thread)?;
        // The thread always reports before it serves. Silence means that it panicked.
        let address = started.recv().unwrap_or_else(|_| Err(io::Error::other("it ended at once")));
        let address = address.map_err(|source| StubError::Listen { address: listen, source })?;
        Ok(Self { address, orders: Some(orders), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Applies from now on. Bytes that already wait keep their delay. Blocks briefly.
    pub fn set(&self, effects: ProxyEffects) {
        if let Some(orders) = &self.orders {
            // Its thread ends only with it.
            let _ = orders.blocking_send(effects);
        }
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State that all connections of a proxy share. Single-threaded.
struct ProxyState {
    to: SocketAddr,
    effects: Cell<ProxyEffects>,
    /// One link per direction. Replaced whenever the bandwidth changes.
    links: RefCell<Option<[Rc<Link>; 2]>>,
    timer: DeadlineTimer,
    random: RefCell<SeededRandom>,
}

impl ProxyState {
    fn set(&self, effects: ProxyEffects) {
        self.effects.set(effects);
        *self.links.borrow_mut() = effects.bytes_per_second.map(|rate| [Rc::new(Link::new(rate)), Rc::new(Link::new(rate))]);
    }

    /// When a piece that arrives now may be forwarded.
    fn due_ns(&self, direction: ProxyDirection, bytes: usize) -> u64 {
        let now_ns = now_ns();
        let delay_ns = if direction == ProxyDirection::ToServer { self.effects.get().delay_ns } else { 0 };
        let sent_ns = self.links.borrow().as_ref().map_or(now_ns, |links| links[direction as usize].send(bytes, now_ns));
        sent_ns.saturating_add(delay_ns)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyDirection {
    ToServer,
    ToClient,
}

fn run(
    (listen, to): (SocketAddr, SocketAddr),
    effects: ProxyEffects,
    mut orders: mpsc::Receiver<ProxyEffects>,
    report: &SyncSender<io::Result<SocketAddr>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime,
        Err(source) => return drop(report.send(Err(source))),
    };
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async {
        let set_up = || {
            let socket = if listen.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.bind(listen)?;
            let listener = socket.listen(4_096)?;
            Ok((listener.local_addr()?, listener, DeadlineTimer::new(0)?))
        };
        let (listener, timer) = match set_up() {
            Ok((address, listener, timer)) => {
                let _ = report.send(Ok(address));
                (listener, timer)
            }
            Err(source) => return drop(report.send(Err(source))),
        };
        let random = RefCell::new(SeededRandom::from_seed(1));
        let state = Rc::new(ProxyState { to, effects: Cell::default(), links: RefCell::default(), timer: timer.clone(), random });
        state.set(effects);
        tokio::task::spawn_local(timer.drive());
        tokio::task::spawn_local(take(listener, Rc::clone(&state)));
        while let Some(effects) = orders.recv().await {
            state.set(effects);
        }
    });
    // The remaining tasks are dropped, and their connections with them.
}

/// Accepts connections forever.
async fn take(listener: TcpListener, state: Rc<ProxyState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::task::spawn_local(connect(stream, Rc::clone(&state)))),
            // Usually out of descriptors: let other connections close first.
            Err(_) => state.timer.sleep_until(now_ns() + 10_000_000).await,
        }
    }
}

/// Problems of one connection affect only its two ends.
async fn connect(from: TcpStream, state: Rc<ProxyState>) {
    let Ok(to) = TcpStream::connect(state.to).await else { return reset(&from) };
    // Without it, an answer would wait for an acknowledgement.
    let _ = (from.set_nodelay(true), to.set_nodelay(true));
    let share = state.effects.get().resets;
    if share > 0.0 && state.random.borrow_mut().uniform() < share {
        // Readiness alone may be a false alarm.
        let _ = from.peek(&mut [0]).await;
        return reset(&from);
    }
    let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
    tokio::join!(pass(ProxyDirection::ToServer, from_read, to_write, &state), pass(ProxyDirection::ToClient, to_read, from_write, &state));
}

/// Closing sends RST.
fn reset(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO));
}

/// Forwards one direction until its end, and forwards the end too.
async fn pass(direction: ProxyDirection, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: &ProxyState) {
    let (queue, mut due) = mpsc::channel::<(u64, Vec<u8>)>(PIECES_MAX);
    let read = async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match from.read_buf(&mut piece).await {
                Ok(count) if count > 0 => {
                    if queue.send((state.due_ns(direction, count), piece)).await.is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    };
    let write = async move {
        while let Some((due_ns, piece)) = due.recv().await {
            state.timer.sleep_until(due_ns).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}
