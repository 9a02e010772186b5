//! One user's connections.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};

use super::carried::Carried;
use super::exchange::{QUEUE, begin_at, fail, note, open, queue, response};
use super::h2::{self, Http2Attempt, Http2Request, OpenStream, SharedConnections};
use super::h2_head::Http2Head;
use super::idle_close::Reach;
use super::in_flight::{InFlightRequest, OutgoingRequest, RequestHead};
use super::message::{BodyUse, Exchange, FAILED_FROM, Origin, Request};
use super::pool::{ConnectionPool, OriginPool};
use super::state::{HttpState, Versions};
use super::wire::{AddedLines, PreparedRequest, Traits, write_head};
use crate::failure::Failure;
use crate::http1::{ReadPlan, ResponseReader};
use crate::network::Network;

/// How one user's connections behave.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Keep connections open between requests (and iterations).
    pub keep_alive: bool,
    /// Most connections of HTTP/1.1 to one origin at once; further parallel requests wait, in order.
    pub connections_max: usize,
    /// The same of HTTP/2. A request goes over the one with the fewest streams; another is opened only where each has some.
    pub shared_connections_max: usize,
    /// Send a request once more that provably met the close of an idle connection.
    pub retry_idle_close: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { keep_alive: true, connections_max: 6, shared_connections_max: 1, retry_idle_close: true }
    }
}

/// One virtual user's HTTP client: a few kept-alive connections per origin.
#[derive(Debug)]
pub struct Client {
    network: Rc<Network>,
    options: ClientOptions,
    state: Rc<HttpState>,
    versions: Versions,
    pool: ConnectionPool,
}

/// A request in either form.
#[derive(Clone, Copy)]
enum RequestForm<'a> {
    Built(&'a Request),
    Prepared(&'a PreparedRequest),
}

impl<'a> RequestForm<'a> {
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

    /// Where its head for HTTP/2 is kept.
    fn http2_head(&self) -> Option<&'a OnceCell<Http2Head>> {
        match self {
            Self::Built(_) => None,
            Self::Prepared(request) => Some(&request.http2_head),
        }
    }

    fn outgoing(&self, network: &Network, added: AddedLines) -> Result<OutgoingRequest<'a>, Failure> {
        let proxy = network.route().forwards(self.origin().tls);
        match self {
            Self::Prepared(request) if proxy.is_none() && added.is_empty() => {
                Ok(OutgoingRequest { head: RequestHead::Prepared(&request.wire), body: &[], sent: 0 })
            }
            Self::Prepared(request) if proxy.is_none() => {
                let mut head = network.take_send_buffer();
                request.write_adding(added, &mut head);
                Ok(OutgoingRequest { head: RequestHead::Built(head), body: &[], sent: 0 })
            }
            _ => {
                let request = self.request();
                let mut head = network.take_send_buffer();
                write_head(request, proxy, added, &mut head)?;
                Ok(OutgoingRequest { head: RequestHead::Built(head), body: &request.body, sent: 0 })
            }
        }
    }

    fn read_plan(&self, traits: &Traits) -> ReadPlan {
        ReadPlan {
            to_head: traits.to_head,
            upgrade: false,
            stream_type: None,
            headers: match self {
                Self::Built(_) => true,
                Self::Prepared(request) => request.keep_headers || traits.body_use == BodyUse::Keep,
            },
            body: traits.body_use == BodyUse::Keep,
            keep_from: Some(FAILED_FROM),
            body_bytes_max: traits.body_bytes_max,
        }
    }
}

impl Client {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        let state = HttpState::of(&network);
        Self { versions: state.versions, state, network, options, pool: ConnectionPool::default() }
    }

    /// Instead of the network's versions. With HTTP/2, all requests of a user to one origin share a connection, or a few.
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    pub fn network(&self) -> &Rc<Network> {
        &self.network
    }

    /// Sends a request and reads its response. A failing target is data: this never errs.
    ///
    /// Dropping the future closes the connection it is on. It begins now, also where all connections of the user are taken: the wait for one is
    /// the phase `queue`.
    pub fn send(&self, request: &Request) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Built(request), Traits::of(request), None)
    }

    /// Like [`Client::send`], without building the request again.
    pub fn send_prepared(&self, request: &PreparedRequest) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Prepared(request), request.traits, None)
    }

    /// The same for a caller that has just read the clock.
    pub fn send_prepared_at(&self, request: &PreparedRequest, now: Nanos) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Prepared(request), request.traits, Some(now))
    }

    /// Opens a stream of HTTP/2 for a protocol over it, which sends the body and reads the response itself. `None`: the exchange says why there
    /// is none.
    pub(crate) async fn open_stream(&self, outgoing: Http2Request<'_>) -> (Exchange, Option<OpenStream>) {
        let pool = self.pool.to(&outgoing.request.origin);
        let mut exchange = begin_at(self.network.clock().now());
        let carried = Carried::by(outgoing.request, self.state.traces.as_ref());
        let stream = h2::open(&self.shared(&pool), outgoing, carried, &mut exchange).await;
        (exchange, stream)
    }

    /// Sends a request of a protocol that is spoken over HTTP/2 alone, as [`Client::send`] does.
    pub(crate) async fn send_http2(&self, outgoing: Http2Request<'_>) -> Exchange {
        let pool = self.pool.to(&outgoing.request.origin);
        let exchange = begin_at(self.network.clock().now());
        let carried = Carried::by(outgoing.request, self.state.traces.as_ref());
        match h2::send(&self.shared(&pool), outgoing, carried, true, self.options.retry_idle_close, exchange).await {
            Http2Attempt::Http2(exchange) | Http2Attempt::Http1(exchange) => exchange,
        }
    }

    /// Whether its requests carry traces with ids of the network's own, which are to say what a request is.
    pub fn makes_traces(&self) -> bool {
        self.state.traces.is_some()
    }

    /// Waits for the right to open a connection, where the network limits their rate and none to this origin lies ready.
    pub async fn admit(&self, origin: &Rc<Origin>) {
        if self.network.limits_connections() && !self.pool.to(origin).is_ready(self.options.shared_connections_max) {
            self.network.admit().await;
        }
    }

    /// Closes all kept connections. Requests under way are not touched.
    pub fn close(&self) {
        self.pool.close();
    }

    fn shared<'a>(&'a self, pool: &'a Rc<OriginPool>) -> SharedConnections<'a> {
        SharedConnections { network: &self.network, pool, most: self.options.shared_connections_max }
    }

    async fn perform(&self, form: RequestForm<'_>, traits: Traits, now: Option<Nanos>) -> Exchange {
        let pool = self.pool.to(form.origin());
        let mut exchange = begin_at(now.unwrap_or_else(|| self.network.clock().now()));
        if self.versions == Versions::Http2Always || self.versions == Versions::Http2 && form.origin().tls {
            let always = self.versions == Versions::Http2Always;
            let request = form.request();
            let carried = Carried::by(request, self.state.traces.as_ref());
            let over = self.shared(&pool);
            let built = OnceCell::new();
            let outgoing = Http2Request { request, body: &request.body, head: form.http2_head().unwrap_or(&built) };
            match Box::pin(h2::send(&over, outgoing, carried, always, self.options.retry_idle_close, exchange)).await {
                Http2Attempt::Http2(exchange) => return exchange,
                Http2Attempt::Http1(begun) => exchange = begun,
            }
        }
        let permit = match pool.try_enter(self.options.connections_max) {
            Some(permit) => permit,
            None => match Box::pin(queue(&self.network, pool.enter(), QUEUE, traits.timeout_ns, &mut exchange)).await {
                Ok(permit) => permit,
                Err(failure) => {
                    fail(&self.network, &mut exchange, failure);
                    return exchange;
                }
            },
        };
        let carried = Carried::by(form.request(), self.state.traces.as_ref());
        exchange.trace = carried.parent().map(Box::new);
        let added = AddedLines { trace: carried.added(), close: !self.options.keep_alive };
        loop {
            let out = match form.outgoing(&self.network, added) {
                Ok(out) => out,
                Err(failure) => {
                    fail(&self.network, &mut exchange, failure);
                    return exchange;
                }
            };
            let kept = if exchange.retried == 0 { permit.take_idle(&self.network) } else { None };
            let mut connection = match kept {
                Some(connection) => {
                    connection.timer.reset(exchange.started.saturating_add(traits.timeout_ns));
                    connection
                }
                None => match Box::pin(open(&self.network, form.origin(), &traits, &mut exchange)).await {
                    Some(connection) => connection,
                    None => return exchange,
                },
            };
            let reader = ResponseReader::new(form.read_plan(&traits));
            let mut in_flight = InFlightRequest::new(&self.network, &mut connection, out, reader, exchange.started);
            let result = poll_fn(|context| in_flight.poll(context)).await;
            let is_reset = matches!(&result, Err(failure) if failure.outcome == Outcome::Reset);
            if is_reset && self.options.retry_idle_close && !exchange.connected && Reach::of(&in_flight).allows_retry(traits.idempotent) {
                exchange.retried += 1;
                exchange.bytes_sent += in_flight.times.bytes_sent;
                continue;
            }
            let (times, reusable, reader) = (in_flight.times, in_flight.is_reusable(), in_flight.response);
            if result.is_ok() && reusable && self.options.keep_alive {
                permit.keep(connection);
            }
            note(&mut exchange, times);
            exchange.result = result.and_then(|()| response(reader, &traits));
            return exchange;
        }
    }
}
