//! What a script awaits on a socket: each step is one operation of the driver.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use metrics::{Nanos, Outcome};
use protocol::Failure;
use protocol::ws::{self, Payload, SendTimes};
use rquickjs::{Ctx, Exception, Function, Persistent, Promise, Value};

use super::cell::SocketCell;
use super::ear::{Ear, Heard, Wanted};
use super::issue::Issue;
use super::matcher::Matcher;
use super::options::Waited;
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::op::{Done, Then, Work};
use crate::crew::sinks::Direction;
use crate::globals::bytes::bytes_of;
use crate::user::request::Flight;

/// What the script is told when a step is over.
pub(crate) struct Pending {
    pub(super) resolve: Persistent<Function<'static>>,
    pub(super) reject: Persistent<Function<'static>>,
    pub(super) step: Step,
}

pub(super) enum Step {
    Open(Box<super::open::Asked>),
    Listen(Box<super::events::Asked>),
    Send {
        cell: Rc<SocketCell>,
        issue: Option<Issue>,
    },
    Message {
        issue: Option<Issue>,
        matcher: Matcher,
    },
    /// The next message of `messages()`.
    Next,
    Ping {
        issue: Option<Issue>,
    },
    Close,
    Closed {
        cell: Rc<SocketCell>,
    },
}

/// How a step went.
pub(crate) enum Happened {
    Opened(Box<ws::WebSocketOpening>),
    Listening(Box<super::events::Connecting>),
    Sent(Result<SendTimes, Failure>),
    Heard(Waiting, Heard, Nanos),
    /// What was to be sent first was not.
    Failed(Waiting, Failure, Nanos),
    Ended,
}

/// A wait for an answer, which may go on after a message that was not the one.
pub(crate) struct Waiting {
    pub(super) ear: Ear,
    pub(super) flight: Option<Flight>,
    pub(super) began: Nanos,
    pub(super) within_ns: u64,
    pub(super) sent: Option<SendTimes>,
}

impl Waiting {
    fn new(cell: &Rc<SocketCell>, wanted: Wanted, issue: Option<&Issue>, counted: bool, within_ns: u64) -> Self {
        let user = &cell.identity.user;
        let began = user.desk.clock.now();
        let ear = Ear::new(cell, wanted, counted, began.saturating_add(within_ns));
        Self { ear, flight: issue.map(|issue| issue.flight(user)), began, within_ns, sent: None }
    }

    fn take_off(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.take_off();
        }
    }

    /// What is sent begins the time.
    fn note(&mut self, sent: SendTimes) {
        self.began = sent.started;
        self.ear.set_due(sent.started.saturating_add(self.within_ns));
        self.sent = Some(sent);
    }

    fn now(&self) -> Nanos {
        self.ear.cell().identity.user.desk.clock.now()
    }
}

/// Waits until something is heard. By hand, since an async function would hold what it waits with twice.
pub(super) struct Hearing(Option<Waiting>);

pub(super) fn hear(waiting: Waiting) -> Hearing {
    Hearing(Some(waiting))
}

impl Future for Hearing {
    type Output = Done;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done> {
        let Some(waiting) = &self.0 else { return Poll::Pending };
        let heard = std::task::ready!(waiting.ear.poll(context));
        let at = waiting.now();
        match self.0.take() {
            Some(waiting) => Poll::Ready(Done::Socket(Box::new(Happened::Heard(waiting, heard, at)))),
            None => Poll::Pending,
        }
    }
}

/// Sends, under the time limit of the ear.
async fn send(ear: &Ear, message: &Payload) -> Result<SendTimes, Failure> {
    let line = ear.cell().line()?;
    let mut sending = pin!(async {
        match message {
            Payload::Text(text) => line.send_text(text).await,
            Payload::Binary(bytes) => line.send_binary(bytes).await,
        }
    });
    let sent = poll_fn(|context| match sending.as_mut().poll(context) {
        Poll::Ready(sent) => Poll::Ready(sent),
        Poll::Pending => {
            ear.poll_late(context).map(|()| Err(Failure { outcome: Outcome::Timeout, message: "timed out sending the message".to_owned() }))
        }
    })
    .await?;
    ear.cell().show(Direction::Sent, message, None);
    Ok(sent)
}

async fn send_and_hear(mut waiting: Waiting, message: Payload) -> Done {
    waiting.take_off();
    match send(&waiting.ear, &message).await {
        Ok(sent) => {
            drop(message);
            waiting.note(sent);
            waiting.ear.listen_from(waiting.ear.cell().number_next());
            hear(waiting).await
        }
        Err(failure) => {
            let at = waiting.now();
            Done::Socket(Box::new(Happened::Failed(waiting, failure, at)))
        }
    }
}

async fn ping_and_hear(mut waiting: Waiting, number: u64) -> Done {
    waiting.take_off();
    let pinged = match waiting.ear.cell().line() {
        Ok(line) => line.ping(&number.to_be_bytes()).await,
        Err(failure) => Err(failure),
    };
    match pinged {
        Ok(sent) => {
            waiting.note(sent);
            hear(waiting).await
        }
        Err(failure) => {
            let at = waiting.now();
            Done::Socket(Box::new(Happened::Failed(waiting, failure, at)))
        }
    }
}

/// The socket's user, whose iteration must be running.
fn playing<'c>(ctx: &Ctx<'_>, cell: &'c SocketCell) -> rquickjs::Result<&'c Rc<UserCell>> {
    let user = &cell.identity.user;
    if !user.is_playing() {
        return Err(Exception::throw_message(ctx, "the iteration has ended: await every step inside the scenario's function"));
    }
    Ok(user)
}

fn payload(ctx: &Ctx<'_>, message: &Value<'_>) -> rquickjs::Result<Payload> {
    if let Some(text) = message.as_string() {
        return Ok(Payload::Text(text.to_string()?));
    }
    match bytes_of(message) {
        Some(bytes) => Ok(Payload::Binary(bytes.into())),
        None => Err(Exception::throw_type(ctx, "a message is a text or bytes (Uint8Array); write objects with JSON.stringify(…)")),
    }
}

/// `socket.send(message, { name })`.
pub(super) fn send_message<'js>(
    ctx: &Ctx<'js>,
    cell: &Rc<SocketCell>,
    message: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = playing(ctx, cell)?;
    let message = payload(ctx, message)?;
    let options = Waited::read(ctx, given, "send(…)", &["name"])?;
    let issue = options.name.as_deref().map(|name| Issue::new(user, user.group(), name));
    let mut waiting = Waiting::new(cell, Wanted::End, issue.as_ref(), true, user.card.timeout_ns);
    submit(ctx, cell, Step::Send { cell: Rc::clone(cell), issue }, async move {
        waiting.take_off();
        let sent = send(&waiting.ear, &message).await;
        let now = waiting.now();
        if let Some(flight) = &mut waiting.flight {
            flight.land(sent.as_ref().map_or(now, |sent| sent.ended));
        }
        Done::Socket(Box::new(Happened::Sent(sent)))
    })
}

/// `socket.request(message, { name, match, within })`.
pub(super) fn request<'js>(
    ctx: &Ctx<'js>,
    cell: &Rc<SocketCell>,
    message: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = playing(ctx, cell)?;
    let message = payload(ctx, message)?;
    let Waited { name, matcher, within_ns } = Waited::read(ctx, given, "request(…)", &["name", "match", "within"])?;
    let issue = match name {
        Some(name) => Issue::new(user, user.group(), &name),
        None => Issue::new(user, user.group(), &format!("{} request", cell.identity.name)),
    };
    let wanted = Wanted::Message(matcher.text().map(str::to_owned));
    let waiting = Waiting::new(cell, wanted, Some(&issue), true, within_ns.unwrap_or(user.card.timeout_ns));
    submit(ctx, cell, Step::Message { issue: Some(issue), matcher }, send_and_hear(waiting, message))
}

/// `socket.receive({ name, match, within })`.
pub(super) fn receive<'js>(ctx: &Ctx<'js>, cell: &Rc<SocketCell>, given: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    let user = playing(ctx, cell)?;
    let Waited { name, matcher, within_ns } = Waited::read(ctx, given, "receive(…)", &["name", "match", "within"])?;
    let issue = name.map(|name| Issue::new(user, user.group(), &name));
    let wanted = Wanted::Message(matcher.text().map(str::to_owned));
    let mut waiting = Waiting::new(cell, wanted, issue.as_ref(), issue.is_some(), within_ns.unwrap_or(user.card.timeout_ns));
    waiting.ear.listen_from(0);
    submit(ctx, cell, Step::Message { issue, matcher }, async move {
        waiting.take_off();
        hear(waiting).await
    })
}

/// The next message of `messages()`, as an iterator gives it; done at the end of the socket or of the load.
pub(super) fn next<'js>(ctx: &Ctx<'js>, cell: &Rc<SocketCell>) -> rquickjs::Result<Promise<'js>> {
    let user = playing(ctx, cell)?;
    let within_ns = user.load_end().saturating_sub(user.desk.clock.now());
    let waiting = Waiting::new(cell, Wanted::Message(None), None, false, within_ns);
    waiting.ear.listen_from(0);
    submit(ctx, cell, Step::Next, hear(waiting))
}

/// `socket.ping({ name, within })`.
pub(super) fn ping<'js>(ctx: &Ctx<'js>, cell: &Rc<SocketCell>, given: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    let user = playing(ctx, cell)?;
    let Waited { name, within_ns, .. } = Waited::read(ctx, given, "ping(…)", &["name", "within"])?;
    let issue = name.map(|name| Issue::new(user, user.group(), &name));
    let number = cell.ping_number();
    let waiting = Waiting::new(cell, Wanted::Pong(number), issue.as_ref(), true, within_ns.unwrap_or(user.card.timeout_ns));
    submit(ctx, cell, Step::Ping { issue }, ping_and_hear(waiting, number))
}

/// `socket.close(code, reason)`.
pub(super) fn close<'js>(ctx: &Ctx<'js>, cell: &Rc<SocketCell>, code: u16, reason: &str) -> rquickjs::Result<Promise<'js>> {
    cell.begin_closing(code, reason);
    let closing = Rc::clone(cell).closing();
    submit(ctx, cell, Step::Close, async move {
        closing.await;
        Done::Socket(Box::new(Happened::Ended))
    })
}

/// `socket.closed`.
pub(super) fn closed<'js>(ctx: &Ctx<'js>, cell: &Rc<SocketCell>) -> rquickjs::Result<Promise<'js>> {
    let ear = Ear::new(cell, Wanted::End, false, Nanos::MAX);
    submit(ctx, cell, Step::Closed { cell: Rc::clone(cell) }, async move {
        poll_fn(|context| ear.poll(context)).await;
        Done::Socket(Box::new(Happened::Ended))
    })
}

/// Hands a step to the driver and returns its promise.
fn submit<'js>(
    ctx: &Ctx<'js>,
    cell: &Rc<SocketCell>,
    step: Step,
    work: impl Future<Output = Done> + 'static,
) -> rquickjs::Result<Promise<'js>> {
    let Some(realm) = cell.identity.realm.upgrade() else { return Err(Exception::throw_message(ctx, "the run has ended")) };
    begin(ctx, &cell.identity.user, &realm, step, Box::pin(work))
}

/// Hands a step of a user to the driver and returns its promise.
pub(super) fn begin<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    step: Step,
    work: Work,
) -> rquickjs::Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    let pending = Pending { resolve: Persistent::save(ctx, resolve), reject: Persistent::save(ctx, reject), step };
    drive(user, realm, pending, work);
    Ok(promise)
}

/// Hands the rest of a step to the driver, unless the run has ended.
pub(super) fn go_on(cell: &SocketCell, pending: Pending, work: Work) {
    if let Some(realm) = cell.identity.realm.upgrade() {
        drive(&cell.identity.user, &realm, pending, work);
    }
}

fn drive(user: &Rc<UserCell>, realm: &Rc<RealmHandle>, pending: Pending, work: Work) {
    let slot = user.desk.submit(work, Then::Socket(Box::new(pending)), Some(user), realm);
    user.track(&slot);
}
