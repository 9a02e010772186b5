//! `user.events(…)`: a stream of server-sent events, opened as a measured request and opened again when it ends (HTML standard, section 9.2).

use std::rc::{Rc, Weak};
use std::sync::Arc;

use metrics::{Nanos, Outcome, Phases, Sample};
use protocol::Failure;
use protocol::http::{Hops, Request};
use protocol::sse::EventStream;
use protocol::ws::Payload;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Class, Ctx, Exception, JsLifetime, Promise, Value};

use super::cell::{Arrived, End, Identity, Labels, Line, READ_AT_ONCE_MAX, SocketCell, give_way};
use super::issue::Issue;
use super::options::Listening;
use super::step::{self, Happened, Step};
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::group::Group;
use crate::crew::op::Done;
use crate::user::name;
use crate::user::request::{Flight, build, url_text};

/// How long to wait before connecting again where the server says nothing. The standard leaves it to the client ("probably in the region of a
/// few seconds"); Chromium waits this long.
const RETRY_NS: Nanos = 3_000_000_000;
const MILLISECOND_NS: Nanos = 1_000_000;

/// Where a stream comes from, and under which names its connections are measured.
pub(super) struct Source {
    user: Rc<UserCell>,
    request: Request,
    opening: Issue,
    /// From a connection's start to its first event.
    first: Issue,
    redirects_max: u8,
    reconnects: bool,
}

/// What is known of a stream being opened.
pub(super) struct Asked {
    realm: Weak<RealmHandle>,
    source: Source,
    drops_unread: bool,
}

/// A connection being opened or open.
pub(crate) struct Connecting {
    hops: Hops,
    stream: Option<EventStream>,
    /// Under way until the first event has come.
    first: Flight,
}

struct Connected {
    stream: EventStream,
    started: Nanos,
    first: Option<Flight>,
}

/// A stream of events of one user.
#[rquickjs::class]
pub(crate) struct Events {
    cell: Rc<SocketCell>,
}

impl<'js> Trace<'js> for Events {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Events {
    type Changed<'to> = Events;
}

#[rquickjs::methods(rename_all = "camelCase")]
impl Events {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.cell.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.cell.loss()
    }

    /// How many have come so far.
    #[qjs(get)]
    fn received(&self) -> f64 {
        self.cell.number_next() as f64
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        step::receive(&ctx, &self.cell, options.0.as_ref())
    }

    /// For `messages`, which is TypeScript.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        step::next(&ctx, &self.cell)
    }

    fn close<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        step::close(&ctx, &self.cell, 1000, "")
    }
}

/// Opens a stream; the promise resolves with it whatever becomes of it.
pub(in crate::user) fn listen<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    group: Option<Rc<Group>>,
    url: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    if !user.is_playing() {
        return Err(Exception::throw_message(ctx, "the iteration has ended: open every stream inside the scenario's function"));
    }
    let listening = Listening::read(ctx, user, given)?;
    let default = if listening.request.body.is_empty() { "GET" } else { "POST" };
    let method = listening.method.as_deref().unwrap_or(default);
    let (request, redirects_max) = build(ctx, user, method.into(), &url_text(ctx, url)?, &listening.request)?;
    let opening_name = match &listening.request.name {
        Some(name) => name.clone(),
        None => name::of_request("SSE", &request.path),
    };
    let opening = Issue::new(user, group.clone(), &opening_name);
    let due = opening.due;
    // The first event is due when the stream is.
    let first = Issue { due, ..Issue::new(user, group, &format!("{opening_name} first event")) };
    let reconnects = listening.reconnects.unwrap_or(true);
    let source = Source { user: Rc::clone(user), request, opening, first, redirects_max, reconnects };
    let connecting = source.connect(due, "");
    let work = Box::pin(async move { Done::Socket(Box::new(Happened::Listening(Box::new(connecting.await)))) });
    let asked = Asked { realm: Rc::downgrade(realm), source, drops_unread: listening.drops_unread };
    step::begin(ctx, user, realm, Step::Listen(Box::new(asked)), work)
}

/// Judges and records the opening and makes the object.
pub(super) fn conclude<'js>(ctx: &Ctx<'js>, asked: Asked, connecting: Connecting) -> rquickjs::Result<Class<'js, Events>> {
    let Asked { realm, mut source, drops_unread } = asked;
    let opened = source.judge(connecting);
    // Those that follow have no schedule.
    source.opening.due = None;
    let (line, connected) = match opened {
        Ok(connected) => (Ok(Line::Events), Some(connected)),
        Err(end) => (Err(end), None),
    };
    let identity = Identity {
        user: Rc::clone(&source.user),
        realm,
        name: Arc::clone(&source.opening.name),
        series: source.opening.series,
        protocol: String::new(),
        drops_unread,
        kept: false,
    };
    let cell = SocketCell::new(identity, line);
    if let (Some(realm), Some(connected)) = (cell.identity.realm.upgrade(), connected) {
        cell.read_with(Box::pin(follow(Rc::clone(&cell), source, connected)), &realm);
        cell.identity.user.hold_socket(&cell);
    }
    Class::instance(ctx.clone(), Events { cell })
}

impl Source {
    /// Opens a connection; its times run until they are judged.
    fn connect(&self, due: Option<Nanos>, last_id: &str) -> impl Future<Output = Connecting> + 'static {
        let flight = |issue: &Issue| Flight::new(Rc::clone(&self.user), issue.series, due);
        let (mut opening_flight, mut first) = (flight(&self.opening), flight(&self.first));
        let (network, session) = (Rc::clone(&self.user.desk.network), Rc::clone(&self.user.session));
        let (request, last_id, redirects_max) = (self.request.clone(), last_id.to_owned(), self.redirects_max);
        async move {
            network.admit().await;
            opening_flight.take_off();
            first.take_off();
            let (hops, stream) = session.open_events(request, &last_id, redirects_max).await;
            opening_flight.land(hops.last.exchange.ended);
            Connecting { hops, stream, first }
        }
    }

    /// Records an opening. `Err`: why there is no stream.
    fn judge(&self, connecting: Connecting) -> Result<Connected, End> {
        let Connecting { hops: Hops { last, before }, stream, mut first } = connecting;
        let exchange = &last.exchange;
        let refused = match (&stream, &exchange.result) {
            (Some(_), _) => None,
            (None, Err(failure)) => Some((failure.outcome, failure.message.clone())),
            // HTML standard, section 9.2.3: how a server says that it wants no more connections.
            (None, Ok(response)) if response.status == 204 => None,
            (None, Ok(response)) => Some((Outcome::Status, format!("status {} instead of a stream of events", response.status))),
        };
        self.opening.record_opening(&self.user, (Some(&last.request), exchange), &before, refused.as_ref());
        match (stream, refused) {
            (Some(stream), _) => Ok(Connected { stream, started: before.first().unwrap_or(&last).exchange.started, first: Some(first) }),
            (None, refused) => {
                // Nothing was cut off: no event could come.
                first.land(exchange.ended);
                Err(match refused {
                    Some((outcome, message)) => End::broken(outcome, message),
                    None => End::ordinary("the server asked not to connect again (status 204)"),
                })
            }
        }
    }

    fn record_first(&self, started: Nanos, at: Nanos, bytes: u64) {
        let sample = Sample {
            scheduled: self.first.due.unwrap_or(started),
            started,
            ended: at.max(started),
            phases: Phases::default(),
            outcome: Outcome::Passed,
            status: 0,
            bytes_sent: 0,
            bytes_received: bytes,
            trace: None,
        };
        self.user.desk.recorder.borrow_mut().record(self.first.series, &sample);
    }

    /// Connects again until there is a stream. `Err`: the server wants no more, or answers with something else.
    async fn again(&self, retry_ns: Nanos, last_id: &str) -> Result<Connected, End> {
        let clock = &self.user.desk.clock;
        loop {
            clock.sleep_until(clock.now().saturating_add(retry_ns)).await;
            let connecting = self.connect(None, last_id).await;
            let answered = connecting.hops.last.exchange.result.as_ref().ok().map(|response| response.status);
            match (self.judge(connecting), answered) {
                (Ok(connected), _) => return Ok(connected),
                // Only an answer ends a stream for good; a connection that fails is tried again.
                (Err(_), None) => {}
                (Err(end), Some(_)) => return Err(end),
            }
        }
    }
}

/// Reads for as long as the script wants the stream, over one connection after another.
async fn follow(cell: Rc<SocketCell>, mut source: Source, mut connected: Connected) -> Done {
    let (mut last_id, mut retry_ns) = (String::new(), RETRY_NS);
    loop {
        let had = cell.number_next();
        let end = read(&cell, &source, &mut connected).await;
        if cell.has_ended() {
            return Done::Waited;
        }
        if let Some(mut first) = connected.first.take() {
            first.land(source.user.desk.clock.now());
        }
        let id = connected.stream.last_id();
        if !id.is_empty() || cell.number_next() > had {
            last_id = id;
        }
        retry_ns = connected.stream.retry_ms().map_or(retry_ns, |ms| ms.saturating_mul(MILLISECOND_NS));
        let end = match end {
            Ok(()) => End::ordinary("the server ended the stream of events"),
            Err(failure) => End::broken(failure.outcome, failure.message),
        };
        if !source.reconnects {
            cell.finish(end);
            return Done::Waited;
        }
        if !end.is_ordinary() {
            cell.count_loss(end.outcome, &end.message);
        }
        source.first.due = None;
        connected = match source.again(retry_ns, &last_id).await {
            Ok(connected) => connected,
            Err(end) => {
                // Its request has failed already, and is counted as such.
                cell.end_with(end);
                return Done::Waited;
            }
        };
    }
}

/// Reads one connection to its end, or until more waits unread than is kept.
async fn read(cell: &SocketCell, source: &Source, connected: &mut Connected) -> Result<(), Failure> {
    let mut items = 0;
    while let Some(event) = connected.stream.next().await? {
        if let Some(mut first) = connected.first.take() {
            first.land(event.at);
            source.record_first(connected.started, event.at, event.data.len() as u64);
        }
        let labels = Some(Box::new(Labels { event: event.kind, id: event.id }));
        cell.keep(Arrived { payload: Payload::Text(event.data), at: event.at, labels });
        if cell.is_overfull() {
            cell.finish(End::overfull());
            break;
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            give_way().await;
        }
    }
    Ok(())
}
