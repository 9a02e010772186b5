//! Server-sent events (HTML standard, section 9.2): a request whose answer goes on for ever.
//!
//! Read [`EventStream`] first; [`open`] makes one. Deliberately absent: connecting again after the end, which is the
//! caller's to decide ([`EventStream::last_id`] and [`EventStream::retry_ms`] help).

mod parser;

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use metrics::Nanos;

use self::parser::EventParser;
use crate::http::{BodyUse, Exchange, Request, Takeover, take_over_events};
use crate::{Failure, Network};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `message` where the server named none.
    pub kind: String,
    pub data: String,
    /// The last id the server has given; empty when it gave none.
    pub id: String,
    /// When its last byte was read.
    pub at: Nanos,
}

/// The request for events and what came of it.
#[derive(Debug)]
pub struct Opening {
    /// Ended when the answer's head had arrived. An answer that is no stream of events is complete, with its body.
    pub exchange: Exchange,
    pub stream: Option<EventStream>,
}

/// Asks for events on a connection of its own. The request's time limit is for the answer's head; its limit for bodies
/// becomes the limit for one event.
pub async fn open(network: &Rc<Network>, mut request: Request) -> Opening {
    // A compressed stream would have to be unpacked piece by piece, and hide when a piece arrived.
    for (name, value) in [("Accept", "text/event-stream"), ("Cache-Control", "no-store"), ("Accept-Encoding", "identity")] {
        if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    request.body_use = BodyUse::Keep;
    let (mut exchange, takeover) = take_over_events(network, &request).await;
    let Some(takeover) = takeover else { return Opening { exchange, stream: None } };
    if takeover.answer.encoded {
        exchange.result = Err(Failure::protocol("the stream of events is compressed, which was not asked for"));
        return Opening { exchange, stream: None };
    }
    let event_bytes_max = usize::try_from(request.body_bytes_max).unwrap_or(usize::MAX);
    let flow = Flow { takeover, parser: EventParser::new(event_bytes_max), read_at: exchange.ended, end: None };
    Opening { exchange, stream: Some(EventStream { network: Rc::clone(network), flow: RefCell::new(flow) }) }
}

/// An open stream of events. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    network: Rc<Network>,
    flow: RefCell<Flow>,
}

#[derive(Debug)]
struct Flow {
    takeover: Takeover,
    parser: EventParser,
    read_at: Nanos,
    end: Option<Result<(), Failure>>,
}

impl EventStream {
    /// The next event; `None` when the server has ended the stream. Dropping the future loses nothing; time limits are
    /// the caller's. One task at a time.
    pub async fn next(&self) -> Result<Option<Event>, Failure> {
        poll_fn(|context| self.flow.borrow_mut().poll_next(&self.network, context)).await
    }

    /// What a new request should send as `Last-Event-ID`; empty when the server gave no id.
    pub fn last_id(&self) -> String {
        self.flow.borrow().parser.last_id().to_owned()
    }

    /// How long the server wants clients to wait before they connect again. Milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.flow.borrow().parser.retry_ms()
    }
}

impl Flow {
    fn poll_next(&mut self, network: &Network, context: &mut Context<'_>) -> Poll<Result<Option<Event>, Failure>> {
        loop {
            match self.parser.next() {
                Ok(Some((kind, data, id))) => return Poll::Ready(Ok(Some(Event { kind, data, id, at: self.read_at }))),
                Ok(None) => {}
                Err(failure) => self.end = Some(Err(failure)),
            }
            let answer = &mut self.takeover.answer;
            let piece = answer.take_piece();
            if !piece.is_empty() {
                self.parser.add(piece);
                continue;
            }
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(|()| None));
            }
            if answer.is_done() {
                self.end = Some(Ok(()));
                continue;
            }
            let mut scratch = network.scratch();
            let fed = match self.takeover.connection.stream.poll_read(context, &mut scratch) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => answer.finish(),
                Poll::Ready(Ok(count)) => {
                    self.read_at = network.clock().now();
                    answer.feed(&scratch[..count]).map(|_| ())
                }
                Poll::Ready(Err(error)) => Err(Failure::broken(&error)),
            };
            if let Err(failure) = fed {
                self.end = Some(Err(failure));
            }
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::parser::EventParser;
}
