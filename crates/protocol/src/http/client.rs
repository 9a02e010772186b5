//! One user's connections.

use std::future::{Future, poll_fn};
use std::rc::Rc;

use bytes::Bytes;
use metrics::{Nanos, Outcome, Phases};

use super::answer::{AnswerReader, Wanted};
use super::flight::{Flight, Head, Outgoing, Times};
use super::message::{BodyUse, Exchange, Origin, Request, Response};
use super::pool::{Connection, Pool};
use super::trace::{Carried, TraceParent};
use super::wire::{PreparedRequest, Traits, write_head};
use super::{Headers, content, h2};
use crate::connect::{Target, connect};
use crate::tls::Offer;
use crate::{Failure, Network};

/// How one user's connections behave.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Keep connections open between requests (and iterations).
    pub keep_alive: bool,
    /// Most connections to one origin at once; further parallel requests wait, in order.
    pub connections_max: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { keep_alive: true, connections_max: 6 }
    }
}

/// Which versions of HTTP a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Versions {
    #[default]
    Http1,
    /// HTTP/2 where TLS agrees on it (ALPN), else HTTP/1.1.
    Http2,
    /// HTTP/2 without asking, also without TLS.
    Http2Always,
}

/// One virtual user's HTTP client: a few kept-alive connections per origin.
#[derive(Debug)]
pub struct Client {
    network: Rc<Network>,
    options: ClientOptions,
    versions: Versions,
    pool: Pool,
}

/// A request in either form.
#[derive(Clone, Copy)]
enum Source<'a> {
    Built(&'a Request),
    Prepared(&'a PreparedRequest),
}

impl<'a> Source<'a> {
    fn origin(&self) -> &'a Rc<Origin> {
        match self {
            Self::Built(request) => &request.origin,
            Self::Prepared(request) => &request.origin,
        }
    }

    fn request(&self) -> &'a Request {
        match self {
            Self::Built(request) => request,
            Self::Prepared(request) => &request.request,
        }
    }

    /// `trace`: its `traceparent` is added.
    fn outgoing(&self, network: &Network, trace: Option<TraceParent>) -> Result<Outgoing<'a>, Failure> {
        let proxy = network.route().forwards(self.origin().tls);
        match (self, trace) {
            (Self::Prepared(request), None) if proxy.is_none() => Ok(Outgoing { head: Head::Prepared(&request.wire), body: &[], sent: 0 }),
            (Self::Prepared(request), Some(trace)) if proxy.is_none() => {
                let mut head = network.take_send_buffer();
                request.write_traced(trace, &mut head);
                Ok(Outgoing { head: Head::Built(head), body: &[], sent: 0 })
            }
            _ => {
                let request = self.request();
                let mut head = network.take_send_buffer();
                write_head(request, proxy, trace, &mut head)?;
                Ok(Outgoing { head: Head::Built(head), body: &request.body, sent: 0 })
            }
        }
    }

    fn wanted(&self, traits: &Traits) -> Wanted {
        Wanted {
            to_head: traits.to_head,
            upgrade: false,
            events: false,
            headers: match self {
                Self::Built(_) => true,
                Self::Prepared(request) => request.keep_headers || traits.body_use == BodyUse::Keep,
            },
            body: traits.body_use == BodyUse::Keep,
            body_bytes_max: traits.body_bytes_max,
        }
    }
}

impl Client {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        Self { versions: network.versions(), network, options, pool: Pool::default() }
    }

    /// Instead of the network's versions. With HTTP/2, all requests of a user to one origin share one connection.
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    pub fn network(&self) -> &Rc<Network> {
        &self.network
    }

    /// Sends a request and reads its answer. A failing target is data: this never errs.
    ///
    /// Dropping the future closes the connection it is on. Time spent waiting for one of the user's own connections is
    /// not part of the exchange.
    pub fn send(&self, request: &Request) -> impl Future<Output = Exchange> {
        self.perform(Source::Built(request), Traits::of(request), None)
    }

    /// Like [`Client::send`], without building the request again.
    pub fn send_prepared(&self, request: &PreparedRequest) -> impl Future<Output = Exchange> {
        self.perform(Source::Prepared(request), request.traits, None)
    }

    /// The same for a caller that has just read the clock.
    pub fn send_prepared_at(&self, request: &PreparedRequest, now: Nanos) -> impl Future<Output = Exchange> {
        self.perform(Source::Prepared(request), request.traits, Some(now))
    }

    /// Waits for the right to open a connection, where the network limits their rate and none to this origin lies ready.
    pub async fn admit(&self, origin: &Rc<Origin>) {
        if self.network.limits_connections() && !self.pool.lane(origin).is_ready() {
            self.network.admit().await;
        }
    }

    /// Closes all kept connections. Requests under way are not touched.
    pub fn close(&self) {
        self.pool.close();
    }

    async fn perform(&self, source: Source<'_>, traits: Traits, mut now: Option<Nanos>) -> Exchange {
        let lane = self.pool.lane(source.origin());
        let mut opened = None;
        if self.versions == Versions::Http2Always || self.versions == Versions::Http2 && source.origin().tls {
            let always = self.versions == Versions::Http2Always;
            match Box::pin(h2::send(&self.network, &lane, source.request(), Carried::by(source.request(), &self.network), always)).await {
                h2::Sent::Http2(exchange) => return exchange,
                h2::Sent::Http1(exchange) => opened = exchange,
            }
        }
        let place = match lane.try_enter(self.options.connections_max) {
            Some(place) => place,
            None => {
                now = None;
                Box::pin(lane.enter()).await
            }
        };
        let mut exchange = opened.unwrap_or_else(|| begin_at(now.unwrap_or_else(|| self.network.clock().now())));
        let carried = Carried::by(source.request(), &self.network);
        exchange.trace = carried.parent().map(Box::new);
        let is_added = carried.added().is_some();
        let mut may_reuse = true;
        loop {
            let out = match source.outgoing(&self.network, exchange.trace.as_deref().copied().filter(|_| is_added)) {
                Ok(out) => out,
                Err(failure) => {
                    exchange.ended = exchange.started;
                    exchange.result = Err(failure);
                    return exchange;
                }
            };
            let kept = if may_reuse { place.take_idle(&self.network) } else { None };
            let mut connection = match kept {
                Some(connection) => {
                    connection.timer.reset(exchange.started.saturating_add(traits.timeout_ns));
                    connection
                }
                None => match Box::pin(open(&self.network, source.origin(), &traits, &mut exchange)).await {
                    Some(connection) => connection,
                    None => return exchange,
                },
            };
            let mut flight = Flight::new(&self.network, &mut connection, out, AnswerReader::new(source.wanted(&traits)));
            let result = poll_fn(|context| flight.poll(context)).await;
            let (times, reusable, answer) = (flight.times, flight.is_reusable(), flight.answer);
            // The kept connection had just been closed; the request may go out on another.
            let raced = !exchange.connected && times.bytes_received == 0;
            if raced && traits.idempotent && matches!(&result, Err(failure) if failure.outcome == Outcome::Reset) {
                self.network.count(|counts| counts.retried += 1);
                may_reuse = false;
                continue;
            }
            if result.is_ok() && reusable && self.options.keep_alive {
                place.keep(connection);
            }
            note(&mut exchange, times);
            exchange.result = result.and_then(|()| response(answer, &traits));
            return exchange;
        }
    }
}

/// An exchange that starts now.
pub(super) fn begin(network: &Network) -> Exchange {
    begin_at(network.clock().now())
}

fn begin_at(started: Nanos) -> Exchange {
    Exchange {
        started,
        ended: 0,
        phases: Phases::default(),
        result: Err(Failure::new(Outcome::Interrupted, String::new())),
        bytes_sent: 0,
        bytes_received: 0,
        connected: false,
        trace: None,
    }
}

/// Opens a connection for an exchange; `None` when the exchange has failed with it.
pub(super) async fn open(network: &Rc<Network>, origin: &Origin, traits: &Traits, exchange: &mut Exchange) -> Option<Box<Connection>> {
    let target = Target { host: &origin.host, port: origin.port, tls: origin.tls.then_some(Offer::Http1), tunnel: false };
    open_to(network, target, traits.timeout_ns, exchange).await
}

pub(super) async fn open_to(
    network: &Rc<Network>,
    target: Target<'_>,
    timeout_ns: u64,
    exchange: &mut Exchange,
) -> Option<Box<Connection>> {
    let timer = network.clock().timer();
    timer.reset(exchange.started.saturating_add(timeout_ns));
    exchange.connected = true;
    if network.limits_connections() {
        Box::pin(network.enter()).await;
    }
    match connect(network, target, &timer, &mut exchange.phases).await {
        Ok(stream) => Some(Connection::new(network, stream, timer)),
        Err(failure) => {
            exchange.ended = network.clock().now();
            exchange.result = Err(failure);
            None
        }
    }
}

/// Enters what a flight measured.
pub(super) fn note(exchange: &mut Exchange, times: Times) {
    exchange.ended = times.ended;
    exchange.bytes_sent = times.bytes_sent;
    exchange.bytes_received = times.bytes_received;
    // An answer may begin before the request is written in full; it did not keep us waiting.
    let waited_until = if times.first_byte == 0 { exchange.ended } else { times.first_byte };
    if times.sent != 0 {
        exchange.phases.wait = waited_until.saturating_sub(times.sent);
    }
    if times.first_byte != 0 {
        exchange.phases.body = exchange.ended - times.first_byte;
    }
}

pub(super) fn response(answer: AnswerReader, traits: &Traits) -> Result<Response, Failure> {
    let headers = Headers::from_head(answer.head, answer.sets_cookies);
    let mut body = Bytes::from(answer.body);
    if answer.encoded && !body.is_empty() {
        let codings: Vec<&str> = headers.all("content-encoding").collect();
        body = content::decode(body, &codings.join(","), traits.body_bytes_max)?;
    }
    Ok(Response { status: answer.status, headers, body })
}
