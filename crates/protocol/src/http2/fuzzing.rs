//! A connection without a socket, for fuzzing.

use super::end::Http2Need;
use super::hpack::HeadFields;
use super::streams::{ResponsePlan, StreamKey, Streams};

/// A request for `/`.
pub(super) struct Head;

impl HeadFields for Head {
    fn fixed(&self) -> &[u8] {
        b""
    }

    fn path(&self) -> Option<&str> {
        Some("/")
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        [(&b":method"[..], &b"GET"[..]), (b":scheme", b"http"), (b":authority", b"a.test")].into_iter()
    }
}

/// What a client has of a response: status, header lines, body, trailer lines, and why it broke.
type Seen = (Option<u16>, Vec<u8>, Vec<u8>, Vec<u8>, Option<String>);

/// The responses to two requests, one of them with the method HEAD, from these pieces of a server's bytes. Also returns the length of what the client
/// answers.
pub(crate) fn responses<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Seen>, usize) {
    let mut streams = Streams::new(Http2Need::Protocol);
    let plans = [ResponsePlan { keep_from: 0, to_head: false }, ResponsePlan { keep_from: 400, to_head: true }];
    let open: Vec<StreamKey> = plans.into_iter().filter_map(|plan| streams.begin(&Head, None, true, plan).ok()).collect();
    let mut answered = 0;
    streams.wrote(streams.to_write().len());
    for piece in pieces {
        streams.receive(piece, 0);
        answered += streams.to_write().len();
        streams.wrote(streams.to_write().len());
    }
    let seen = open.into_iter().map(|key| {
        let stream = streams.stream(key);
        let [head, trailers] = [stream.head.take(), stream.trailers.take()].map(|block| block.map(|block| block.lines.to_vec()));
        let why = stream.broken.as_ref().map(|broken| broken.failure.message.clone());
        (stream.status, head.unwrap_or_default(), stream.take_body(), trailers.unwrap_or_default(), why)
    });
    (seen.collect(), answered)
}
