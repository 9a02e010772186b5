//! An open stream of server-sent events.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use loadstone_metrics::Nanos;

use super::parser::EventParser;
use crate::failure::Failure;
use crate::http::{BodyUse, Exchange, Purpose, Request, Takeover, take_over};
use crate::network::Network;

const MEDIA_TYPE: &str = "text/event-stream";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// `message` if the server set none.
    pub kind: String,
    pub data: String,
    /// The last id that the server sent. Empty if it sent none.
    pub id: String,
    /// When its last byte was read.
    pub at: Nanos,
}

/// The request for events and its result.
#[derive(Debug)]
pub struct EventStreamOpening {
    /// It ended when the response's head had arrived. A response that is not an event stream is complete, with its body.
    pub exchange: Exchange,
    pub stream: Option<EventStream>,
}

/// Requests events on a new connection. The request's time limit applies to the response's head. Its limit for bodies becomes the limit for one
/// event.
pub async fn open(network: &Rc<Network>, mut request: Request) -> EventStreamOpening {
    // A compressed stream would have to be decompressed piece by piece, which would hide when a piece arrived.
    for (name, value) in [("Accept", MEDIA_TYPE), ("Cache-Control", "no-store"), ("Accept-Encoding", "identity")] {
        if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    request.body_use = BodyUse::Keep;
    let (mut exchange, takeover) = take_over(network, &request, Purpose::Stream(MEDIA_TYPE)).await;
    let Some(takeover) = takeover else { return EventStreamOpening { exchange, stream: None } };
    if takeover.reader.encoded {
        exchange.fail_answered(Failure::protocol("the event stream is compressed, but the request did not ask for that"));
        return EventStreamOpening { exchange, stream: None };
    }
    let event_bytes_max = usize::try_from(request.body_bytes_max).unwrap_or(usize::MAX);
    let reader = EventReader { takeover, parser: EventParser::new(event_bytes_max), read_at: exchange.ended, end: None };
    EventStreamOpening { exchange, stream: Some(EventStream { network: Rc::clone(network), reader: RefCell::new(reader) }) }
}

/// An open event stream. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    network: Rc<Network>,
    reader: RefCell<EventReader>,
}

#[derive(Debug)]
struct EventReader {
    takeover: Takeover,
    parser: EventParser,
    read_at: Nanos,
    end: Option<Result<(), Failure>>,
}

impl EventStream {
    /// The next event. `None` when the server has ended the stream. Dropping the future loses nothing. The caller sets time limits. One task at a
    /// time.
    pub async fn next(&self) -> Result<Option<ServerSentEvent>, Failure> {
        poll_fn(|context| self.reader.borrow_mut().poll_next(&self.network, context)).await
    }

    /// The `Last-Event-ID` that a new request should send. Empty if the server sent no id.
    pub fn last_id(&self) -> String {
        self.reader.borrow().parser.last_id().to_owned()
    }

    /// How long the server asks clients to wait before they reconnect. Milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.reader.borrow().parser.retry_ms()
    }
}

impl EventReader {
    fn poll_next(&mut self, network: &Network, context: &mut Context<'_>) -> Poll<Result<Option<ServerSentEvent>, Failure>> {
        loop {
            match self.parser.next() {
                Ok(Some((kind, data, id))) => return Poll::Ready(Ok(Some(ServerSentEvent { kind, data, id, at: self.read_at }))),
                Ok(None) => {}
                Err(failure) => self.end = Some(Err(failure)),
            }
            let response = &mut self.takeover.reader;
            let piece = response.take_piece();
            if !piece.is_empty() {
                self.parser.add(piece);
                continue;
            }
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(|()| None));
            }
            if response.is_done() {
                self.end = Some(Ok(()));
                continue;
            }
            let mut scratch = network.scratch();
            let fed = match self.takeover.connection.stream.poll_read(context, &mut scratch) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => response.finish(),
                Poll::Ready(Ok(count)) => {
                    self.read_at = network.clock().now();
                    response.feed(&scratch[..count]).map(|_| ())
                }
                Poll::Ready(Err(error)) => Err(Failure::broken(&error)),
            };
            if let Err(failure) = fed {
                self.end = Some(Err(failure));
            }
        }
    }
}
