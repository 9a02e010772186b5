//! Requests whose connection is used for something else once it has been answered: another protocol, or a body without end.

use std::future::poll_fn;
use std::rc::Rc;

use super::answer::{AnswerReader, Wanted};
use super::client::{begin, note, open_to, response};
use super::flight::{Flight, Head, Outgoing};
use super::message::{Exchange, Request, Response};
use super::pool::Connection;
use super::trace::Carried;
use super::wire::{Traits, write_head};
use super::{Failure, Headers};
use crate::Network;
use crate::connect::Target;
use crate::tls::Offer;

/// A connection to go on with.
#[derive(Debug)]
pub(crate) struct Takeover {
    pub(crate) connection: Box<Connection>,
    /// What has already arrived of another protocol.
    pub(crate) rest: Vec<u8>,
    /// Reads the body on, and holds what has arrived of it.
    pub(crate) answer: AnswerReader,
}

/// Sends the request; the connection is handed over when the answer is 101.
pub(crate) async fn take_over_upgraded(network: &Rc<Network>, request: &Request) -> (Exchange, Option<Takeover>) {
    take_over(network, request, true).await
}

/// Sends the request; the connection is handed over when the answer is a stream of events. The request's limit for
/// bodies then holds for what arrives at once.
pub(crate) async fn take_over_events(network: &Rc<Network>, request: &Request) -> (Exchange, Option<Takeover>) {
    take_over(network, request, false).await
}

async fn take_over(network: &Rc<Network>, request: &Request, upgrade: bool) -> (Exchange, Option<Takeover>) {
    let traits = Traits::of(request);
    let mut exchange = begin(network);
    let carried = Carried::by(request, network);
    exchange.trace = carried.parent().map(Box::new);
    let mut head = network.take_send_buffer();
    let proxy = if upgrade { None } else { network.route().forwards(request.origin.tls) };
    if let Err(failure) = write_head(request, proxy, carried.added(), &mut head) {
        exchange.ended = exchange.started;
        exchange.result = Err(failure);
        return (exchange, None);
    }
    let origin = &request.origin;
    let target = Target { host: &origin.host, port: origin.port, tls: origin.tls.then_some(Offer::Http1), tunnel: upgrade };
    let Some(mut connection) = open_to(network, target, traits.timeout_ns, &mut exchange).await else { return (exchange, None) };
    let wanted = Wanted { to_head: false, upgrade, events: !upgrade, headers: true, body: true, body_bytes_max: traits.body_bytes_max };
    let out = Outgoing { head: Head::Built(head), body: &request.body, sent: 0 };
    let mut flight = Flight::new(network, &mut connection, out, AnswerReader::new(wanted));
    let result = poll_fn(|context| flight.poll(context)).await;
    note(&mut exchange, flight.times);
    let (mut answer, rest) = (flight.answer, flight.rest);
    let handed_over = result.is_ok() && (answer.status == 101 || answer.streaming);
    if !handed_over {
        exchange.result = result.and_then(|()| response(answer, &traits));
        return (exchange, None);
    }
    exchange.result = Ok::<_, Failure>(Response {
        status: answer.status,
        headers: Headers::from_head(std::mem::take(&mut answer.head), answer.sets_cookies),
        body: bytes::Bytes::new(),
    });
    (exchange, Some(Takeover { connection, rest, answer }))
}

/// Reads a proxy's answer to CONNECT, which has no body when it is good.
pub(crate) struct ConnectReader {
    answer: AnswerReader,
}

impl ConnectReader {
    pub(crate) fn new() -> Self {
        let wanted = Wanted { to_head: true, upgrade: false, events: false, headers: false, body: false, body_bytes_max: 0 };
        Self { answer: AnswerReader::new(wanted) }
    }

    /// The status once the head is complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Option<u16>, Failure> {
        let used = self.answer.feed(bytes)?;
        if !self.answer.is_done() {
            return Ok(None);
        }
        if used < bytes.len() && (200..300).contains(&self.answer.status) {
            return Err(Failure::protocol("the tunnel carried bytes before it was used"));
        }
        Ok(Some(self.answer.status))
    }
}
