//! The steps of an exchange: its beginning, opening its connection, and recording measurements and the response.

use std::future::Future;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome, Phases};

use super::content;
use super::headers::Headers;
use super::in_flight::ExchangeTimes;
use super::message::{Exchange, Origin, Request, Response};
use super::wire::Traits;
use crate::connect::{connect, within};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::http1::ResponseReader;
use crate::network::Network;
use crate::proxies::ProxiedScheme;
use crate::target::ConnectTarget;
use crate::tls::Alpn;

/// HTTP/1.1 alone.
pub(super) const ALPN: Alpn = &["http/1.1"];

/// RFC 9110, section 15.5.8.
const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// The activity of a request while all connections of its user are busy.
pub(super) const QUEUE: &str = "waiting for a free connection";

/// Waits for one of the user's connections. The wait is part of the request's time.
pub(super) async fn queue<T>(
    network: &Network,
    entering: impl Future<Output = T>,
    doing: &str,
    timeout_ns: u64,
    exchange: &mut Exchange,
) -> Result<T, Failure> {
    let clock = network.clock();
    let asked = clock.now();
    let due = exchange.started.saturating_add(timeout_ns);
    let timer = clock.timer();
    timer.reset(due);
    let entered = within(&timer, doing, entering).await;
    let now = clock.now();
    exchange.phases.queue += now - asked;
    // A place may become free because its holder's time limit expires, at the instant at which this request must give up, too.
    if now < due { entered } else { Err(Failure::timeout(doing)) }
}

/// Ends the exchange now, with this failure.
pub(super) fn fail(network: &Network, exchange: &mut Exchange, failure: Failure) {
    exchange.ended = network.clock().now();
    exchange.result = Err(failure);
}

/// An exchange that starts now.
pub(super) fn begin(network: &Network) -> Exchange {
    begin_at(network.clock().now())
}

pub(super) fn begin_at(started: Nanos) -> Exchange {
    Exchange {
        started,
        ended: 0,
        phases: Phases::default(),
        result: Err(Failure::new(Outcome::Interrupted, String::new())),
        answer: None,
        bytes_sent: 0,
        bytes_received: 0,
        connected: false,
        retried: 0,
        trace: None,
        peer: None,
    }
}

/// Opens a connection for an exchange. `None`: this failed, and so did the exchange.
pub(super) async fn open(network: &Rc<Network>, request: &Request, traits: &Traits, exchange: &mut Exchange) -> Option<Box<Connection>> {
    let Request { origin, source, .. } = request;
    let target = ConnectTarget {
        host: &origin.host,
        port: origin.port,
        alpn: origin.tls.then_some(ALPN),
        tunnel: false,
        scheme: ProxiedScheme::of_http(origin.tls),
        source: *source,
    };
    open_to(network, target, traits.timeout_ns, exchange).await
}

pub(super) async fn open_to(
    network: &Rc<Network>,
    target: ConnectTarget<'_>,
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
            fail(network, exchange, failure);
            None
        }
    }
}

/// Records the measurements.
pub(super) fn note(exchange: &mut Exchange, times: ExchangeTimes) {
    exchange.ended = times.ended;
    exchange.bytes_sent += times.bytes_sent;
    exchange.bytes_received += times.bytes_received;
    // A response may begin before the request is completely written. The client did not wait for it.
    let waited_until = if times.first_byte == 0 { exchange.ended } else { times.first_byte };
    if times.sent != 0 {
        exchange.phases.wait = waited_until.saturating_sub(times.sent);
    }
    if times.first_byte != 0 {
        exchange.phases.body = exchange.ended - times.first_byte;
    }
}

/// Ends an exchange with what was read. A response that was read in part is kept as its answer.
pub(super) fn conclude(exchange: &mut Exchange, read: Result<(), Failure>, reader: ResponseReader, traits: &Traits) {
    let headers = Headers::from_head(reader.head, reader.sets_cookies);
    let trailers = Headers::from_trailers(&reader.trailers);
    let response = Response { status: reader.status, headers, body: Bytes::from(reader.body), trailers };
    exchange.result = match read {
        Ok(()) if reader.encoded => decoded(response, traits, exchange),
        Ok(()) => Ok(response),
        Err(failure) => {
            // 0: no complete head had arrived.
            exchange.answer = (response.status != 0).then(|| Box::new(response));
            Err(failure)
        }
    };
}

/// A response with its body decoded. If that fails, the response is kept as the exchange's answer, with its body as it arrived.
pub(super) fn decoded(mut response: Response, traits: &Traits, exchange: &mut Exchange) -> Result<Response, Failure> {
    if response.body.is_empty() {
        return Ok(response);
    }
    let codings = response.headers.all("content-encoding").collect::<Vec<_>>().join(",");
    if codings.is_empty() {
        return Ok(response);
    }
    match content::decode(response.body.clone(), &codings, traits.body_bytes_max) {
        Ok(body) => {
            response.body = body;
            Ok(response)
        }
        Err(failure) => {
            exchange.answer = Some(Box::new(response));
            Err(failure)
        }
    }
}

/// A proxy that forwards a request answers 407 itself. The target has not received the request.
pub(super) fn check_proxy(network: &Network, origin: &Origin, exchange: &mut Exchange) {
    if let Some(proxy) = network.route().forwards(origin)
        && exchange.result.as_ref().is_ok_and(|response| response.status == PROXY_AUTHENTICATION_REQUIRED)
    {
        exchange.fail_answered(proxy.wants_credentials());
    }
}
