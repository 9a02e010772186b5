//! A socket or a stream of events that is open, or was: its reader, what has arrived and who waits.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::join_all;
use metrics::{Nanos, Outcome, SeriesId};
use protocol::Failure;
use protocol::ws::{self, Close, Payload, ReceivedItem};

use super::ear::{Ear, Waiter, Wanted};
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::op::{Done, Op, OpSlot, Work};
use crate::crew::sinks::{Direction, TracedMessage};

/// Most messages of one socket that wait unread.
const UNREAD_MAX: usize = 1_000;
/// Most bytes of one socket that wait unread; one message may be larger.
const UNREAD_BYTES_MAX: usize = 16 << 20;
/// How long the server's answer to a close frame is waited for.
const CLOSE_NS: u64 = 5_000_000_000;
/// Items that one socket may read before the others get their turn.
pub(super) const READ_AT_ONCE_MAX: usize = 32;
/// Reported where a connection ended without a close frame, and where a close frame had no code (RFC 6455, section 7.4.1).
const ABNORMAL: u16 = 1006;
const NO_CODE: u16 = 1005;
/// The close code of a user that leaves in the midst of things.
const GOING_AWAY: u16 = 1001;

/// What connects to the server.
#[derive(Clone)]
pub(super) enum Line {
    Socket(Rc<ws::WebSocket>),
    Events,
}

/// A message as it waits for somebody.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    pub(super) payload: Payload,
    /// When its last byte was read.
    pub(super) at: Nanos,
    /// Only of a server-sent event.
    pub(super) labels: Option<Box<Labels>>,
}

#[derive(Debug, Clone)]
pub(super) struct Labels {
    pub(super) event: String,
    pub(super) id: String,
}

/// How a socket ended, or why it never opened.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) message: String,
    pub(super) code: u16,
    pub(super) reason: String,
}

impl End {
    pub(super) fn broken(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: message.into(), code: ABNORMAL, reason: String::new() }
    }

    /// As the server, or the script, meant it.
    pub(super) fn ordinary(message: &str) -> Self {
        Self { outcome: Outcome::Closed, message: message.to_owned(), code: 1000, reason: String::new() }
    }

    pub(super) fn overfull() -> Self {
        let advice = "read them with receive() or messages(), or open it with `unread: \"drop\"`";
        Self::broken(Outcome::Script, format!("more messages wait unread than the {UNREAD_MAX} (or 16 MiB) that are kept: {advice}"))
    }

    fn closed(close: Close) -> Self {
        let mut message = "the server closed the WebSocket".to_owned();
        if let Some(code) = close.code {
            message.push_str(&format!(" with code {code}"));
        }
        if !close.reason.is_empty() {
            message.push_str(&format!(" ({})", close.reason));
        }
        Self { outcome: Outcome::Closed, message, code: close.code.unwrap_or(NO_CODE), reason: close.reason }
    }

    /// A server's ordinary farewell.
    pub(super) fn is_ordinary(&self) -> bool {
        matches!(self.code, 1000 | NO_CODE)
    }
}

/// What does not change in the life of a socket.
pub(super) struct Identity {
    pub(super) user: Rc<UserCell>,
    pub(super) realm: Weak<RealmHandle>,
    /// Name and series of its opening.
    pub(super) name: Arc<str>,
    pub(super) series: SeriesId,
    pub(super) protocol: String,
    /// Messages that nobody waits for are forgotten.
    pub(super) drops_unread: bool,
    /// It outlives its iteration.
    pub(super) kept: bool,
}

/// Held by the user for as long as it is open, and by the script's object.
pub(crate) struct SocketCell {
    pub(super) identity: Identity,
    line: RefCell<Option<Line>>,
    inbox: RefCell<VecDeque<(u64, Arrived)>>,
    inbox_bytes: Cell<usize>,
    /// Number of the next message.
    number_next: Cell<u64>,
    waiters: RefCell<Vec<Rc<Waiter>>>,
    end: RefCell<Option<End>>,
    /// The script, or the end of its iteration, is closing it.
    leaving: Cell<bool>,
    pinged: Cell<u64>,
    /// The last ping that was answered, and when.
    ponged: Cell<(u64, Nanos)>,
    reader: RefCell<Weak<OpSlot>>,
}

impl SocketCell {
    /// A socket that was opened, or `Err`: why it was not.
    pub(super) fn new(identity: Identity, opened: Result<Line, End>) -> Rc<Self> {
        let (line, end) = match opened {
            Ok(line) => (Some(line), None),
            Err(end) => (None, Some(end)),
        };
        Rc::new(Self {
            identity,
            line: RefCell::new(line),
            inbox: RefCell::default(),
            inbox_bytes: Cell::default(),
            number_next: Cell::default(),
            waiters: RefCell::default(),
            end: RefCell::new(end),
            leaving: Cell::default(),
            pinged: Cell::default(),
            ponged: Cell::default(),
            reader: RefCell::default(),
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.line.borrow().is_some() && !self.leaving.get()
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.identity.kept
    }

    /// Why it could not be opened, or was lost.
    pub(super) fn loss(&self) -> Option<String> {
        let end = self.end.borrow();
        end.as_ref().filter(|end| !self.leaving.get() && !end.is_ordinary()).map(|end| end.message.clone())
    }

    pub(super) fn end(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    fn socket(&self) -> Option<Rc<ws::WebSocket>> {
        match &*self.line.borrow() {
            Some(Line::Socket(socket)) => Some(Rc::clone(socket)),
            Some(Line::Events) | None => None,
        }
    }

    pub(super) fn line(&self) -> Result<Rc<ws::WebSocket>, Failure> {
        let line = self.socket().filter(|_| !self.leaving.get());
        line.ok_or_else(|| match self.end() {
            Some(end) => Failure { outcome: end.outcome, message: end.message },
            None => Failure { outcome: Outcome::Closed, message: "the script closed the WebSocket".to_owned() },
        })
    }

    /// Starts the reader: pings are answered and messages are timed whether or not the script is waiting for any.
    pub(super) fn listen(self: &Rc<Self>, realm: &Rc<RealmHandle>) {
        if let Some(line) = self.socket() {
            self.read_with(Box::pin(read(Rc::clone(self), line)), realm);
        }
    }

    /// Has this work read for it until it ends.
    pub(super) fn read_with(&self, work: Work, realm: &Rc<RealmHandle>) {
        let slot = OpSlot::unheard(work, Rc::clone(realm));
        *self.reader.borrow_mut() = Rc::downgrade(&slot);
        self.identity.user.desk.queue(Op(slot));
    }

    /// Number that the next message will have.
    pub(super) fn number_next(&self) -> u64 {
        self.number_next.get()
    }

    pub(super) fn join(&self, waiter: Rc<Waiter>) {
        self.waiters.borrow_mut().push(waiter);
    }

    pub(super) fn leave_off(&self, waiter: &Rc<Waiter>) {
        self.waiters.borrow_mut().retain(|other| !Rc::ptr_eq(other, waiter));
        self.forget_unread();
    }

    /// The first message from a number on that came in time and, where a text is given, contains it.
    pub(super) fn candidate(&self, from: u64, text: Option<&str>, due: Nanos) -> Option<u64> {
        let inbox = self.inbox.borrow();
        let fits = |message: &Arrived| match (text, &message.payload) {
            (None, _) => true,
            (Some(text), Payload::Text(whole)) => whole.contains(text),
            (Some(text), Payload::Binary(bytes)) => String::from_utf8_lossy(bytes).contains(text),
        };
        inbox.iter().find(|(number, message)| *number >= from && message.at <= due && fits(message)).map(|(number, _)| *number)
    }

    /// Takes a message out of the queue.
    pub(super) fn take(&self, number: u64) -> Option<Arrived> {
        let mut inbox = self.inbox.borrow_mut();
        let at = inbox.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let (_, message) = inbox.remove(at)?;
        self.inbox_bytes.set(self.inbox_bytes.get() - size(&message));
        if inbox.is_empty() {
            // An idle socket holds no buffer.
            *inbox = VecDeque::new();
        }
        Some(message)
    }

    /// Puts a message back that was not the one wanted.
    pub(super) fn put_back(&self, number: u64, message: Arrived) {
        self.inbox_bytes.set(self.inbox_bytes.get() + size(&message));
        let mut inbox = self.inbox.borrow_mut();
        let at = inbox.partition_point(|(other, _)| *other < number);
        inbox.insert(at, (number, message));
    }

    /// Forgets what nobody waits for, where that is wanted.
    pub(super) fn forget_unread(&self) {
        if !self.identity.drops_unread {
            return;
        }
        let wanted_from = self.waiters.borrow().iter().filter_map(|waiter| waiter.wants_from()).min().unwrap_or(u64::MAX);
        let unwanted: Vec<u64> = self.inbox.borrow().iter().map(|(number, _)| *number).take_while(|number| *number < wanted_from).collect();
        for number in unwanted {
            self.take(number);
        }
    }

    /// A message has come.
    pub(super) fn keep(&self, message: Arrived) {
        self.show(Direction::Received, &message.payload, message.labels.as_deref());
        let number = self.number_next.replace(self.number_next.get() + 1);
        self.put_back(number, message);
        self.forget_unread();
        self.waiters.borrow().iter().for_each(|waiter| waiter.wake());
    }

    /// Shows a message to whoever follows every step.
    pub(super) fn show(&self, direction: Direction, payload: &Payload, labels: Option<&Labels>) {
        let user = &self.identity.user;
        let Some(messages) = &user.desk.sinks.messages else { return };
        let body = match payload {
            Payload::Text(text) => text.as_bytes(),
            Payload::Binary(bytes) => &bytes[..],
        };
        let (event, id) = labels.map_or((None, None), |labels| (Some(&*labels.event), Some(&*labels.id)));
        messages(&TracedMessage { scenario: &user.card.name, name: &self.identity.name, direction, body, event, id });
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.inbox.borrow().len() > UNREAD_MAX || self.inbox_bytes.get() > UNREAD_BYTES_MAX && self.inbox.borrow().len() > 1
    }

    /// Sends a ping; returns its number.
    pub(super) fn ping_number(&self) -> u64 {
        self.pinged.set(self.pinged.get() + 1);
        self.pinged.get()
    }

    /// When the ping of that number, or a later one, was answered.
    pub(super) fn ponged(&self, number: u64) -> Option<Nanos> {
        let (answered, at) = self.ponged.get();
        (answered >= number).then_some(at)
    }

    /// Gives a connection up that does not answer.
    pub(super) fn give_up(&self, message: &str) {
        self.finish(End::broken(Outcome::Timeout, message));
    }

    pub(super) fn finish(&self, end: End) {
        if self.has_ended() {
            return;
        }
        // Whoever waits for an answer counts the loss; where nobody does, it is counted here.
        let counted = self.waiters.borrow().iter().any(|waiter| waiter.is_measured());
        let lost = !self.leaving.get() && !end.is_ordinary();
        if lost && !counted {
            self.count_loss(end.outcome, &end.message);
        }
        self.end_with(end);
    }

    /// Its end, where a loss is counted otherwise.
    pub(super) fn end_with(&self, end: End) {
        *self.end.borrow_mut() = Some(end);
        self.release();
        self.waiters.borrow().iter().for_each(|waiter| waiter.wake());
    }

    /// Puts a loss into the list of errors and fails the iteration.
    pub(super) fn count_loss(&self, outcome: Outcome, message: &str) {
        let user = &self.identity.user;
        user.desk.recorder.borrow_mut().error(self.identity.series, outcome, user.desk.clock.now(), message);
        user.note_failure(user.epoch(), None);
    }

    /// Lets go of the connection.
    fn release(&self) {
        self.line.borrow_mut().take();
        let reader = std::mem::take(&mut *self.reader.borrow_mut());
        if let Some(reader) = reader.upgrade() {
            reader.cancel();
        }
        self.identity.user.forget_socket(self);
    }

    /// Closes without waiting for the server: the close frame is written as far as the kernel takes it.
    pub(crate) fn leave(&self) {
        self.leaving.set(true);
        if let Some(line) = self.socket() {
            line.say_farewell(GOING_AWAY, "");
        }
        self.finish(End::broken(Outcome::Closed, "the user has left"));
    }

    /// Begins the closing handshake. [`SocketCell::closing`] waits for its end.
    pub(super) fn begin_closing(&self, code: u16, reason: &str) {
        if self.leaving.replace(true) {
            return;
        }
        let line = self.line.borrow().clone();
        match line {
            Some(Line::Socket(socket)) => socket.say_farewell(code, reason),
            // A stream has no farewell.
            Some(Line::Events) => self.finish(End::ordinary("the script closed the stream of events")),
            None => {}
        }
    }

    /// Waits until the server has answered the close frame, for five seconds at most.
    pub(super) async fn closing(self: Rc<Self>) {
        let due = self.identity.user.desk.clock.now().saturating_add(CLOSE_NS);
        let ear = Ear::new(&self, Wanted::End, false, due);
        poll_fn(|context| ear.poll(context)).await;
        self.finish(End::broken(Outcome::Closed, "the server did not answer the close frame"));
    }
}

fn size(message: &Arrived) -> usize {
    match &message.payload {
        Payload::Text(text) => text.len(),
        Payload::Binary(bytes) => bytes.len(),
    }
}

/// Reads for as long as the socket lives.
async fn read(cell: Rc<SocketCell>, line: Rc<ws::WebSocket>) -> Done {
    let mut items = 0;
    loop {
        match line.receive().await {
            Ok(ReceivedItem::Message(message)) => cell.keep(Arrived { payload: message.payload, at: message.at, labels: None }),
            Ok(ReceivedItem::Pong(pong)) => {
                if let Ok(number) = pong.payload.as_slice().try_into().map(u64::from_be_bytes) {
                    cell.ponged.set((number, pong.at));
                    cell.waiters.borrow().iter().for_each(|waiter| waiter.wake());
                }
            }
            Ok(ReceivedItem::Closed(close)) => {
                cell.finish(End::closed(close));
                return Done::Waited;
            }
            Err(failure) => {
                cell.finish(End::broken(failure.outcome, failure.message));
                return Done::Waited;
            }
        }
        if cell.is_overfull() {
            line.say_farewell(1008, "");
            cell.finish(End::overfull());
            return Done::Waited;
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            give_way().await;
        }
    }
}

pub(super) async fn give_way() {
    let mut waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Closes sockets with the closing handshake, all at once, and then calls `then`. Returns the operation that does it.
pub(crate) fn close_all(sockets: Vec<Rc<SocketCell>>, then: impl FnOnce() + 'static) -> Option<Rc<OpSlot>> {
    let first = Rc::clone(sockets.first()?);
    let realm = first.identity.realm.upgrade()?;
    for socket in &sockets {
        socket.begin_closing(1000, "");
    }
    let work = join_all(sockets.into_iter().map(SocketCell::closing)).map(|_| {
        then();
        Done::Waited
    });
    let slot = OpSlot::unheard(Box::pin(work), realm);
    first.identity.user.desk.queue(Op(Rc::clone(&slot)));
    Some(slot)
}
