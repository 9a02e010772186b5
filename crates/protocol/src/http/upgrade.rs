//! A request that asks to switch protocols, on a connection of its own.

use std::future::poll_fn;
use std::rc::Rc;

use super::answer::{AnswerReader, Wanted};
use super::client::{begin, note, open, response};
use super::flight::{Flight, Head, Outgoing};
use super::message::{Exchange, Request};
use super::pool::Connection;
use super::wire::{Traits, write_head};
use crate::Network;

/// A connection whose peer has switched, and what has already arrived on it.
#[derive(Debug)]
pub(crate) struct Upgraded {
    pub(crate) connection: Box<Connection>,
    pub(crate) rest: Vec<u8>,
}

/// Sends the request; the connection is handed over when the answer is 101.
pub(crate) async fn upgrade(network: &Rc<Network>, request: &Request) -> (Exchange, Option<Upgraded>) {
    let traits = Traits::of(request);
    let mut exchange = begin(network);
    let mut head = network.take_send_buffer();
    if let Err(failure) = write_head(request, &mut head) {
        exchange.ended = exchange.started;
        exchange.result = Err(failure);
        return (exchange, None);
    }
    let Some(mut connection) = open(network, &request.origin, &traits, &mut exchange).await else { return (exchange, None) };
    let wanted = Wanted { to_head: false, upgrade: true, headers: true, body: true, body_bytes_max: traits.body_bytes_max };
    let out = Outgoing { head: Head::Built(head), body: &request.body, sent: 0 };
    let mut flight = Flight::new(network, &mut connection, out, AnswerReader::new(wanted));
    let result = poll_fn(|context| flight.poll(context)).await;
    note(&mut exchange, flight.times);
    let (answer, rest) = (flight.answer, flight.rest);
    let switched = answer.status == 101 && result.is_ok();
    exchange.result = result.and_then(|()| response(answer, &traits));
    (exchange, switched.then_some(Upgraded { connection, rest }))
}
