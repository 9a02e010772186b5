//! A runtime with a driven clock, servers that send exactly what a test specifies, and short functions to build requests.

use std::cell::RefCell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use loadstone_metrics::Outcome;
use loadstone_metrics::clock::{Clock, Monotonic};
use loadstone_protocol::http::{BodyUse, Client, ClientOptions, Exchange, Origin, Request, Response};
use loadstone_protocol::{Network, NetworkOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

/// Runs a test on one thread with a driven clock. A test that hangs fails after a minute.
pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce(Rc<Network>) -> F) {
    run_with(NetworkOptions::default(), test);
}

pub(crate) fn run_with<F: Future<Output = ()>>(options: NetworkOptions, test: impl FnOnce(Rc<Network>) -> F) {
    run_on(Clock::real(Monotonic::start()), options, test);
}

pub(crate) fn run_on<F: Future<Output = ()>>(clock: Clock, options: NetworkOptions, test: impl FnOnce(Rc<Network>) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let network = Network::new(clock.clone(), options).unwrap();
    let local = LocalSet::new();
    local.spawn_local(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(1));
        loop {
            ticks.tick().await;
            clock.fire();
        }
    });
    let bounded = async { tokio::time::timeout(Duration::from_secs(60), test(network)).await.expect("the test hangs") };
    runtime.block_on(local.run_until(bounded));
}

/// Serves connections with `handler`, which receives each connection with its number from 0.
pub(crate) async fn serve<F: Future<Output = ()> + 'static>(handler: impl Fn(Peer, usize) -> F + 'static) -> SocketAddr {
    serve_at("127.0.0.1:0", handler).await
}

pub(crate) async fn serve_at<F: Future<Output = ()> + 'static>(address: &str, handler: impl Fn(Peer, usize) -> F + 'static) -> SocketAddr {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        for number in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::task::spawn_local(handler(Peer { stream, rest: Vec::new() }, number));
        }
    });
    address
}

/// A server that answers the first request of every connection with these bytes, then closes.
pub(crate) async fn serve_bytes(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer = Rc::new(answer.into());
    serve(move |mut peer, _| {
        let answer = Rc::clone(&answer);
        async move {
            if peer.request().await.is_some() {
                peer.send(&*answer).await;
            }
        }
    })
    .await
}

/// The server's side of a connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    rest: Vec<u8>,
}

impl Peer {
    /// The next request's head. Its body of known length is read and dropped. `None`: the client has closed.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let head = self.head().await?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |length| length.parse().unwrap());
        while self.rest.len() < length {
            if self.stream.read_buf(&mut self.rest).await.ok()? == 0 {
                return None;
            }
        }
        self.rest.drain(..length);
        Some(head)
    }

    /// The next request's body of known length.
    pub(crate) async fn whole_body(&mut self) -> Option<Vec<u8>> {
        let head = self.head().await?;
        self.body_of(&head).await
    }

    /// Whether nothing more arrives in this time.
    pub(crate) async fn rests_for(&mut self, time: Duration) -> bool {
        self.rest.is_empty() && tokio::time::timeout(time, self.stream.read_buf(&mut self.rest)).await.is_err()
    }

    /// The body of known length of the request with this head.
    pub(crate) async fn body_of(&mut self, head: &str) -> Option<Vec<u8>> {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |length| length.parse().unwrap());
        while self.rest.len() < length {
            if self.stream.read_buf(&mut self.rest).await.ok()? == 0 {
                return None;
            }
        }
        Some(self.rest.drain(..length).collect())
    }

    /// The next request's head. Its body remains unread.
    pub(crate) async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.rest.windows(4).position(|window| window == b"\r\n\r\n") {
                return Some(String::from_utf8(self.rest.drain(..end + 4).collect()).unwrap());
            }
            if self.stream.read_buf(&mut self.rest).await.ok()? == 0 {
                return None;
            }
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Request {
    request("GET", address, path, Bytes::new())
}

pub(crate) fn request(method: &str, address: SocketAddr, path: &str, body: impl Into<Bytes>) -> Request {
    Request {
        origin: Rc::new(Origin { tls: false, host: address.ip().to_string(), port: address.port() }),
        method: method.into(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: body.into().into(),
        trailers: None,
        timeout_ns: 20_000_000_000,
        body_use: BodyUse::Keep,
        body_bytes_max: 64 << 20,
        label: loadstone_metrics::span::RequestLabel::default(),
        source: None,
    }
}

pub(crate) fn client(network: &Rc<Network>) -> Client {
    Client::new(Rc::clone(network), ClientOptions::default())
}

/// The response, after checking the invariants of every exchange.
pub(crate) fn passed(exchange: &Exchange) -> &Response {
    check_times(exchange);
    exchange.result.as_ref().unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Outcome and message of a failed exchange.
pub(crate) fn failed(exchange: &Exchange) -> (Outcome, &str) {
    check_times(exchange);
    let failure = exchange.result.as_ref().expect_err("the request passed");
    (failure.outcome, &failure.message)
}

fn check_times(exchange: &Exchange) {
    let phases = &exchange.phases;
    let sum = phases.queue + phases.dns + phases.connect + phases.tls + phases.wait + phases.body;
    assert!(exchange.started <= exchange.ended, "{exchange:?}");
    assert!(sum <= exchange.ended - exchange.started, "{exchange:?}");
}

/// A list that a test and its server share.
pub(crate) fn shared<T>() -> Rc<RefCell<Vec<T>>> {
    Rc::default()
}
