//! One user's connections.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};

use super::exchange::{QUEUE, begin_at, check_proxy, conclude, fail, note, open, queue};
use super::h2::{self, Http2Attempt, Http2Request, OpenStream, SharedConnections};
use super::h2_head::Http2Head;
use super::idle_close::Reach;
use super::in_flight::{InFlightRequest, OutgoingRequest, RequestHead};
use super::message::{BodyUse, Exchange, FAILED_STATUS_MIN, Origin, Request};
use super::pool::{ConnectionPool, OriginPool};
use super::state::{HttpState, Versions};
use super::trace_choice::TraceChoice;
use super::wire::{AddedLines, PreparedRequest, Traits, closes, expects_continue, write_head};
use crate::failure::Failure;
use crate::http1::{ReadPlan, ResponseReader};
use crate::http2::Http2Need;
use crate::network::Network;

/// The behaviour of one user's connections.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Keep connections open between requests (and iterations).
    pub keep_alive: bool,
    /// Maximum number of HTTP/1.1 connections to one origin. Further parallel requests wait in order.
    pub connections_max: usize,
    /// The same for HTTP/2. A request uses the connection with the fewest streams. Another connection is opened only if each has streams.
    pub shared_connections_max: usize,
    /// Whether to resend a request once if it provably met the close of an idle connection.
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

    /// The cache of its head for HTTP/2.
    fn http2_head(&self) -> Option<&'a OnceCell<Http2Head>> {
        match self {
            Self::Built(_) => None,
            Self::Prepared(request) => Some(&request.http2_head),
        }
    }

    fn outgoing(&self, network: &Network, added: AddedLines) -> Result<OutgoingRequest<'a>, Failure> {
        let proxy = network.route().forwards(self.origin());
        match self {
            Self::Prepared(request) if proxy.is_none() && added.is_empty() => Ok(OutgoingRequest {
                head: RequestHead::Prepared(&request.wire),
                body: &request.tail,
                sent: 0,
                expects_continue: request.expects_continue,
            }),
            Self::Prepared(request) if proxy.is_none() => {
                let mut head = network.take_send_buffer();
                request.write_adding(added, &mut head);
                Ok(OutgoingRequest {
                    head: RequestHead::Built(head),
                    body: &request.tail,
                    sent: 0,
                    expects_continue: request.expects_continue,
                })
            }
            _ => {
                let request = self.request();
                let mut head = network.take_send_buffer();
                write_head(request, proxy, added, &mut head)?;
                Ok(OutgoingRequest {
                    head: RequestHead::Built(head),
                    body: request.framed_body(),
                    sent: 0,
                    expects_continue: expects_continue(request),
                })
            }
        }
    }

    /// Whether the request itself ends its connection (RFC 9112, section 9.6).
    fn closes(&self) -> bool {
        match self {
            Self::Built(request) => closes(request),
            Self::Prepared(request) => request.closes,
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
            keep_from: Some(FAILED_STATUS_MIN),
            body_bytes_max: traits.body_bytes_max,
        }
    }
}

impl Client {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        let state = HttpState::of(&network);
        Self { versions: state.versions, state, network, options, pool: ConnectionPool::default() }
    }

    /// Overrides the network's versions. With HTTP/2, all requests of a user to one origin share one connection, or a few.
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    pub fn network(&self) -> &Rc<Network> {
        &self.network
    }

    /// Sends a request and reads its response. A failing target is data: this never returns an error.
    ///
    /// Dropping the future closes its connection. The exchange begins now, even if all connections of the user are busy: waiting for one is the phase
    /// `queue`.
    pub fn send(&self, request: &Request) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Built(request), Traits::of(request), None)
    }

    /// Like [`Client::send`], for a caller that has just read the clock. The exchange starts at that instant.
    pub fn send_at(&self, request: &Request, now: Nanos) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Built(request), Traits::of(request), Some(now))
    }

    pub(crate) fn now(&self) -> Nanos {
        self.network.clock().now()
    }

    /// Like [`Client::send`], without encoding the request again.
    pub fn send_prepared(&self, request: &PreparedRequest) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Prepared(request), request.traits, None)
    }

    /// Like [`Client::send_prepared`], for a caller that has just read the clock.
    pub fn send_prepared_at(&self, request: &PreparedRequest, now: Nanos) -> impl Future<Output = Exchange> {
        self.perform(RequestForm::Prepared(request), request.traits, Some(now))
    }

    /// Opens an HTTP/2 stream for a protocol that sends the body and reads the response itself. `None`: the exchange contains the reason.
    pub(crate) async fn open_stream(&self, outgoing: Http2Request<'_>) -> (Exchange, Option<OpenStream>) {
        let pool = self.pool.to(&outgoing.request.origin, outgoing.request.source);
        let mut exchange = begin_at(self.network.clock().now());
        let trace_choice = TraceChoice::by(outgoing.request, self.state.traces.as_ref());
        let stream = h2::open(&self.shared(&pool, Http2Need::Protocol), outgoing, trace_choice, &mut exchange).await;
        (exchange, stream)
    }

    /// Like [`Client::send`], for a protocol that only uses HTTP/2.
    pub(crate) async fn send_http2(&self, outgoing: Http2Request<'_>) -> Exchange {
        let pool = self.pool.to(&outgoing.request.origin, outgoing.request.source);
        let exchange = begin_at(self.network.clock().now());
        let trace_choice = TraceChoice::by(outgoing.request, self.state.traces.as_ref());
        match h2::send(&self.shared(&pool, Http2Need::Protocol), outgoing, trace_choice, true, self.options.retry_idle_close, exchange)
            .await
        {
            Http2Attempt::Http2(exchange) | Http2Attempt::Http1(exchange) => exchange,
        }
    }

    /// Opens the HTTP/2 connection that requests like this one will use, unless there is one.
    pub(crate) async fn connect_http2(&self, request: &Request) -> Result<(), Failure> {
        let pool = self.pool.to(&request.origin, request.source);
        let mut exchange = begin_at(self.network.clock().now());
        match h2::connect(&self.shared(&pool, Http2Need::Protocol), request, &mut exchange).await {
            true => Ok(()),
            false => Err(exchange.result.err().unwrap_or_else(|| Failure::protocol("the server does not speak HTTP/2"))),
        }
    }

    /// Whether its requests carry traces with ids that the network generates, which identify the request.
    pub fn makes_traces(&self) -> bool {
        self.state.traces.is_some()
    }

    /// Waits for permission to open a connection, if the network limits their rate and no connection for this request is ready.
    pub async fn admit(&self, request: &Request) {
        if self.network.limits_connections() && !self.pool_for(request).is_ready(self.options.shared_connections_max) {
            self.network.admit().await;
        }
    }

    /// Closes all idle connections. Requests in progress are not affected.
    pub fn close(&self) {
        self.pool.close();
    }

    /// Whether requests to this origin try HTTP/2.
    fn tries_http2(&self, origin: &Origin) -> bool {
        self.versions == Versions::Http2Always || self.versions == Versions::Http2 && origin.tls
    }

    /// The connections for a request. A proxy forwards plain requests to all origins over the same ones.
    fn pool_for(&self, request: &Request) -> Rc<OriginPool> {
        let Request { origin, source, .. } = request;
        match &self.state.forwarder {
            Some(proxy) if !self.tries_http2(origin) && self.network.route().forwards(origin).is_some() => self.pool.to(proxy, *source),
            _ => self.pool.to(origin, *source),
        }
    }

    fn shared<'a>(&'a self, pool: &'a Rc<OriginPool>, need: Http2Need) -> SharedConnections<'a> {
        SharedConnections { network: &self.network, pool, most: self.options.shared_connections_max, need }
    }

    /// A proxy's connection may be open already, so no later check of the host would follow.
    fn check_host_behind_proxy(&self, origin: &Origin) -> Result<(), Failure> {
        if self.state.forwarder.is_some() { self.network.check_host(&origin.host, origin.port) } else { Ok(()) }
    }

    async fn perform(&self, form: RequestForm<'_>, traits: Traits, now: Option<Nanos>) -> Exchange {
        let pool = self.pool_for(form.request());
        let mut exchange = begin_at(now.unwrap_or_else(|| self.network.clock().now()));
        if let Err(failure) = self.check_host_behind_proxy(form.origin()) {
            fail(&self.network, &mut exchange, failure);
            return exchange;
        }
        if self.tries_http2(form.origin()) {
            let always = self.versions == Versions::Http2Always;
            let request = form.request();
            let trace_choice = TraceChoice::by(request, self.state.traces.as_ref());
            let over = self.shared(&pool, if always { Http2Need::Chosen } else { Http2Need::Negotiated });
            let built = OnceCell::new();
            let outgoing = Http2Request { request, body: request.body.pieces(), head: form.http2_head().unwrap_or(&built) };
            match Box::pin(h2::send(&over, outgoing, trace_choice, always, self.options.retry_idle_close, exchange)).await {
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
        let trace_choice = TraceChoice::by(form.request(), self.state.traces.as_ref());
        exchange.trace = trace_choice.parent().map(Box::new);
        let added = AddedLines { trace: trace_choice.added(), close: !self.options.keep_alive };
        loop {
            let out = match form.outgoing(&self.network, added) {
                Ok(out) => out,
                Err(failure) => {
                    fail(&self.network, &mut exchange, failure);
                    return exchange;
                }
            };
            let mut connection = match (exchange.retried == 0).then(|| permit.take_idle(&self.network)).flatten() {
                Some(connection) => {
                    connection.timer.reset(exchange.started.saturating_add(traits.timeout_ns));
                    connection
                }
                None => match Box::pin(open(&self.network, form.request(), &traits, &mut exchange)).await {
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
            exchange.peer = Some(connection.counted.peer());
            if result.is_ok() && reusable && self.options.keep_alive && !form.closes() {
                permit.keep(connection);
            }
            note(&mut exchange, times);
            conclude(&mut exchange, result, reader, &traits);
            check_proxy(&self.network, form.origin(), &mut exchange);
            return exchange;
        }
    }
}
