//! Requests whose connection serves another purpose after the response: another protocol, or an endless body.

use std::future::poll_fn;
use std::rc::Rc;

use super::exchange::{ALPN, begin, check_proxy, conclude, note, open_to};
use super::headers::Headers;
use super::in_flight::{InFlightRequest, OutgoingRequest, RequestHead};
use super::message::{Exchange, Request, Response};
use super::state::HttpState;
use super::trace_choice::TraceChoice;
use super::wire::{AddedLines, Traits, write_head};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::http1::{ReadPlan, ResponseReader};
use crate::network::Network;
use crate::proxies::ProxiedScheme;
use crate::target::ConnectTarget;

/// A connection that was taken over.
#[derive(Debug)]
pub(crate) struct Takeover {
    pub(crate) connection: Box<Connection>,
    /// Bytes of the other protocol that have already arrived.
    pub(crate) rest: Vec<u8>,
    /// Continues to read the body, and contains the part that has arrived.
    pub(crate) reader: ResponseReader,
}

/// The purpose of a takeover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Another protocol. The connection is transferred when the response is 101.
    Upgrade,
    /// An endless body with this media type. The connection is transferred when the response has one. The request's limit for bodies then applies to
    /// each piece.
    Stream(&'static str),
}

/// Sends the request on a new connection, and transfers the connection if the response allows it.
pub(crate) async fn take_over(network: &Rc<Network>, request: &Request, purpose: Purpose) -> (Exchange, Option<Takeover>) {
    let (upgrade, stream_type) = match purpose {
        Purpose::Upgrade => (true, None),
        Purpose::Stream(media_type) => (false, Some(media_type)),
    };
    let traits = Traits::of(request);
    let mut exchange = begin(network);
    let trace_choice = TraceChoice::by(request, HttpState::of(network).traces.as_ref());
    exchange.trace = trace_choice.parent().map(Box::new);
    let mut head = network.take_send_buffer();
    let proxy = if upgrade { None } else { network.route().forwards(&request.origin) };
    let added = AddedLines { trace: trace_choice.added(), close: false };
    if let Err(failure) = write_head(request, proxy, added, &mut head) {
        exchange.ended = exchange.started;
        exchange.result = Err(failure);
        return (exchange, None);
    }
    let origin = &request.origin;
    let target = ConnectTarget {
        host: &origin.host,
        port: origin.port,
        alpn: origin.tls.then_some(ALPN),
        tunnel: upgrade,
        scheme: ProxiedScheme::of_http(origin.tls),
        source: request.source,
    };
    let Some(mut connection) = open_to(network, target, traits.timeout_ns, &mut exchange).await else { return (exchange, None) };
    let plan = ReadPlan {
        to_head: false,
        upgrade,
        stream_type,
        headers: true,
        body: true,
        keep_from: None,
        body_bytes_max: traits.body_bytes_max,
    };
    let out = OutgoingRequest { head: RequestHead::Built(head), body: request.framed_body(), sent: 0, expects_continue: false };
    let mut in_flight = InFlightRequest::new(network, &mut connection, out, ResponseReader::new(plan), exchange.started);
    let result = poll_fn(|context| in_flight.poll(context)).await;
    note(&mut exchange, in_flight.times);
    let (mut reader, rest) = (in_flight.response, in_flight.rest);
    let handed_over = result.is_ok() && (reader.status == 101 || reader.streaming);
    if !handed_over {
        conclude(&mut exchange, result, reader, &traits);
        if proxy.is_some() {
            check_proxy(network, origin, &mut exchange);
        }
        return (exchange, None);
    }
    exchange.result = Ok::<_, Failure>(Response {
        status: reader.status,
        headers: Headers::from_head(std::mem::take(&mut reader.head), reader.sets_cookies),
        body: bytes::Bytes::new(),
        trailers: Headers::default(),
    });
    (exchange, Some(Takeover { connection, rest, reader }))
}
