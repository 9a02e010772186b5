//! The source of a stream of events: a connection that is opened as a measured request, and opened again when it ends.

use std::future::Future;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::Failure;
use loadstone_protocol::http::{Exchange, Hops, Request};
use loadstone_protocol::sse::EventStream;
use loadstone_protocol::ws::Payload;

use crate::protocols::http::opening;
use crate::protocols::http::state::HttpUser;
use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, MessageChannel, READ_AT_ONCE_MAX, yield_now};
use crate::protocols::messages::inbox::{ArrivedMessage, EventLabels};
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;

/// Wait before connecting again, unless the server sets it. The standard leaves it to the client ("probably in the region of a few
/// seconds"); Chromium waits this long.
const RETRY_NS: Nanos = 3_000_000_000;
const MILLISECOND_NS: Nanos = 1_000_000;

/// The source of a stream, and the series of its connections.
pub(super) struct EventSource {
    pub(super) user: Rc<UserState>,
    pub(super) request: Request,
    pub(super) opening: MeasuredStep,
    /// From a connection's start to its first event.
    pub(super) first: MeasuredStep,
    pub(super) redirects_max: u8,
    pub(super) reconnects: bool,
}

/// Why a connection is opened.
pub(super) enum ConnectedBy {
    /// The script opened it, and can await it.
    Script,
    /// After a loss.
    Reader,
}

/// A connection that is being opened.
pub(super) struct StreamOpening {
    hops: Hops,
    stream: Option<EventStream>,
    /// In flight until the first event has arrived.
    first: StepInFlight,
}

impl StreamOpening {
    /// The last one of its redirects.
    pub(super) fn exchange(&self) -> &Exchange {
        &self.hops.last.exchange
    }
}

/// A connection that is open.
pub(super) struct Connected {
    stream: EventStream,
    started: Nanos,
    first: Option<StepInFlight>,
}

/// The channel's part of a stream. The reader has the connection.
pub(super) struct EventConnection;

impl ChannelConnection for EventConnection {
    /// A stream of events has no close message.
    fn send_close(&self, _: u16, _: &str) -> Option<ChannelEnd> {
        Some(ChannelEnd::ordinary("the script closed the stream of events"))
    }
}

impl EventSource {
    /// Opens a connection. Its times run until it is judged.
    pub(super) fn connect(&self, by: ConnectedBy, last_id: &str) -> impl Future<Output = StreamOpening> + 'static {
        let (mut opening_flight, due) = match by {
            ConnectedBy::Script => (self.opening.in_flight(&self.user), self.opening.due),
            ConnectedBy::Reader => (self.opening.in_background(&self.user, None), None),
        };
        let mut first = self.first.in_background(&self.user, due);
        let (network, http) = (Rc::clone(&self.user.worker.network), HttpUser::of(&self.user));
        let (request, last_id, redirects_max) = (self.request.clone(), last_id.to_owned(), self.redirects_max);
        async move {
            network.admit().await;
            opening_flight.begin();
            first.begin();
            let (hops, stream) = http.session.open_events(request, &last_id, redirects_max).await;
            opening_flight.end(hops.last.exchange.ended);
            StreamOpening { hops, stream, first }
        }
    }

    /// Records an opening. `Err`: why there is no stream.
    pub(super) fn judge(&self, tried: StreamOpening) -> Result<Connected, ChannelEnd> {
        let StreamOpening { hops: Hops { last, before }, stream, mut first } = tried;
        let exchange = &last.exchange;
        let refused = match (&stream, &exchange.result) {
            (Some(_), _) => None,
            (None, Err(failure)) => Some((failure.outcome, failure.message.clone())),
            // HTML standard, section 9.2.3: the status with which a server asks for no more connections.
            (None, Ok(response)) if response.status == 204 => None,
            (None, Ok(response)) => Some((Outcome::Status, format!("status {} instead of a stream of events", response.status))),
        };
        opening::record(&self.opening, &self.user, (Some(&last.request), exchange), &before, refused.as_ref());
        match (stream, refused) {
            (Some(stream), _) => Ok(Connected { stream, started: before.first().unwrap_or(&last).exchange.started, first: Some(first) }),
            (None, refused) => {
                // Nothing was cut off: no event could be received.
                first.end(exchange.ended);
                Err(match refused {
                    Some((outcome, message)) => ChannelEnd::broken(outcome, message),
                    None => ChannelEnd::ordinary("the server asked not to connect again (status 204)"),
                })
            }
        }
    }

    fn record_first(&self, started: Nanos, at: Nanos, bytes: u64) {
        let mut sample = self.first.sample(started, at, Outcome::Passed);
        sample.bytes_received = bytes;
        self.first.record(&self.user, &sample, None);
    }

    /// Connects again until there is a stream. `Err`: the server asks for no more connections, or answers with something else.
    async fn again(&self, retry_ns: Nanos, last_id: &str) -> Result<Connected, ChannelEnd> {
        let clock = &self.user.worker.clock;
        loop {
            clock.sleep_until(clock.now().saturating_add(retry_ns)).await;
            let tried = self.connect(ConnectedBy::Reader, last_id).await;
            let answered = tried.hops.last.exchange.result.as_ref().ok().map(|response| response.status);
            match (self.judge(tried), answered) {
                (Ok(connected), _) => return Ok(connected),
                // Only a response ends a stream for good. A failed connection is tried again.
                (Err(_), None) => {}
                (Err(end), Some(_)) => return Err(end),
            }
        }
    }
}

/// Reads until the script ends the stream, over one connection after another.
pub(super) async fn follow(channel: Rc<MessageChannel>, mut source: EventSource, mut connected: Connected) {
    let (mut last_id, mut retry_ns) = (String::new(), RETRY_NS);
    loop {
        let had = channel.number_next();
        let end = read(&channel, &source, &mut connected).await;
        if channel.has_ended() {
            return;
        }
        if let Some(mut first) = connected.first.take() {
            first.end(source.user.now());
        }
        let id = connected.stream.last_id();
        if !id.is_empty() || channel.number_next() > had {
            last_id = id;
        }
        retry_ns = connected.stream.retry_ms().map_or(retry_ns, |ms| ms.saturating_mul(MILLISECOND_NS));
        let end = match end {
            Ok(()) => ChannelEnd::ordinary("the server ended the stream of events"),
            Err(failure) => ChannelEnd::broken(failure.outcome, failure.message),
        };
        if !source.reconnects {
            channel.finish(end);
            return;
        }
        if !end.is_ordinary() {
            channel.count_loss(end.outcome, &end.message);
        }
        source.first.due = None;
        connected = match source.again(retry_ns, &last_id).await {
            Ok(connected) => connected,
            Err(end) => {
                // Its request has failed already and is recorded.
                channel.end_with(end);
                return;
            }
        };
    }
}

/// Reads one connection to its end, or until too many events are unread.
async fn read(channel: &MessageChannel, source: &EventSource, connected: &mut Connected) -> Result<(), Failure> {
    let mut items = 0;
    while let Some(event) = connected.stream.next().await? {
        if let Some(mut first) = connected.first.take() {
            first.end(event.at);
            source.record_first(connected.started, event.at, event.data.len() as u64);
        }
        let labels = Some(Box::new(EventLabels { event: event.kind, id: event.id }));
        channel.keep(ArrivedMessage { payload: Payload::Text(event.data), at: event.at, labels });
        if channel.is_overfull() {
            channel.finish(ChannelEnd::overfull());
            break;
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            yield_now().await;
        }
    }
    Ok(())
}
