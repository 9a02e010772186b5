//! Requests whose connection is used for something else after their response: another protocol, or a body without end.

use std::future::poll_fn;
use std::rc::Rc;

use super::carried::Carried;
use super::exchange::{ALPN, begin, note, open_to, response};
use super::headers::Headers;
use super::in_flight::{InFlightRequest, OutgoingRequest, RequestHead};
use super::message::{Exchange, Request, Response};
use super::state::HttpState;
use super::wire::{AddedLines, Traits, write_head};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::http1::{ReadPlan, ResponseReader};
use crate::network::Network;
use crate::target::ConnectTarget;

/// A connection to go on with.
#[derive(Debug)]
pub(crate) struct Takeover {
    pub(crate) connection: Box<Connection>,
    /// What has already arrived of another protocol.
    pub(crate) rest: Vec<u8>,
    /// Reads the body on, and holds what has arrived of it.
    pub(crate) reader: ResponseReader,
}

/// What the connection is to be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Another protocol: it is handed over when the response is 101.
    Upgrade,
    /// A body of this media type, without end: it is handed over when the response has one. The request's limit for bodies then holds for
    /// what arrives at once.
    Stream(&'static str),
}

/// Sends the request on a connection of its own, and hands that over when the response allows it.
pub(crate) async fn take_over(network: &Rc<Network>, request: &Request, purpose: Purpose) -> (Exchange, Option<Takeover>) {
    let (upgrade, stream_type) = match purpose {
        Purpose::Upgrade => (true, None),
        Purpose::Stream(media_type) => (false, Some(media_type)),
    };
    let traits = Traits::of(request);
    let mut exchange = begin(network);
    let carried = Carried::by(request, HttpState::of(network).traces.as_ref());
    exchange.trace = carried.parent().map(Box::new);
    let mut head = network.take_send_buffer();
    let proxy = if upgrade { None } else { network.route().forwards(request.origin.tls) };
    let added = AddedLines { trace: carried.added(), close: false };
    if let Err(failure) = write_head(request, proxy, added, &mut head) {
        exchange.ended = exchange.started;
        exchange.result = Err(failure);
        return (exchange, None);
    }
    let origin = &request.origin;
    let target = ConnectTarget { host: &origin.host, port: origin.port, alpn: origin.tls.then_some(ALPN), tunnel: upgrade };
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
    let out = OutgoingRequest { head: RequestHead::Built(head), body: &request.body, sent: 0 };
    let mut in_flight = InFlightRequest::new(network, &mut connection, out, ResponseReader::new(plan), exchange.started);
    let result = poll_fn(|context| in_flight.poll(context)).await;
    note(&mut exchange, in_flight.times);
    let (mut reader, rest) = (in_flight.response, in_flight.rest);
    let handed_over = result.is_ok() && (reader.status == 101 || reader.streaming);
    if !handed_over {
        exchange.result = result.and_then(|()| response(reader, &traits));
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
