//! A WebSocket, an event stream or a UDP socket, open or closed: its reader, its unread messages and its waiters.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Poll;

use loadstone_metrics::{Nanos, Outcome, SeriesId};
use loadstone_protocol::Failure;
use loadstone_protocol::ws::Payload;

use super::inbox::{ArrivedMessage, EventLabels, Inbox, UNREAD_MAX};
use super::waiter::ChannelWaiter;
use crate::runtime::operation::OperationSlot;
use crate::runtime::owner::Cancel;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::{MessageDirection, TracedMessage};

/// Items that one channel may read before other channels are read.
pub(in crate::protocols) const READ_AT_ONCE_MAX: usize = 32;
/// Reported if a connection ended without a close frame, or if a close frame had no code (RFC 6455, section 7.4.1).
const ABNORMAL: u16 = 1006;
const NO_CODE: u16 = 1005;
/// The close code of a user that leaves before the end.
const GOING_AWAY: u16 = 1001;

/// How a channel ended, or why it never opened.
#[derive(Debug, Clone)]
pub(in crate::protocols) struct ChannelEnd {
    pub(in crate::protocols) outcome: Outcome,
    pub(in crate::protocols) message: String,
    pub(in crate::protocols) code: u16,
    pub(in crate::protocols) reason: String,
}

impl ChannelEnd {
    pub(in crate::protocols) fn broken(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: message.into(), code: ABNORMAL, reason: String::new() }
    }

    /// Intended by the server or the script.
    pub(in crate::protocols) fn ordinary(message: &str) -> Self {
        Self { outcome: Outcome::Closed, message: message.to_owned(), code: 1000, reason: String::new() }
    }

    pub(in crate::protocols) fn overfull() -> Self {
        let advice = "read them with receive() or messages(), or open it with `unread: \"drop\"`";
        Self::broken(Outcome::Script, format!("more than {UNREAD_MAX} unread messages (or 16 MiB) are waiting: {advice}"))
    }

    /// A close frame was received.
    pub(in crate::protocols) fn closed(code: Option<u16>, reason: String) -> Self {
        let mut message = "the server closed the WebSocket".to_owned();
        if let Some(code) = code {
            message.push_str(&format!(" with code {code}"));
        }
        if !reason.is_empty() {
            message.push_str(&format!(" ({reason})"));
        }
        Self { outcome: Outcome::Closed, message, code: code.unwrap_or(NO_CODE), reason }
    }

    /// The server has ended the channel normally.
    pub(in crate::protocols) fn is_ordinary(&self) -> bool {
        matches!(self.code, 1000 | NO_CODE)
    }
}

/// The connection of a channel, as far as the channel must know it. The connection is open until this is dropped.
pub(in crate::protocols) trait ChannelConnection {
    /// The script, or the end of its iteration, closes it. Returns the end if there is nothing to wait for.
    fn send_close(&self, code: u16, reason: &str) -> Option<ChannelEnd>;
}

/// Constants of a channel.
pub(in crate::protocols) struct ChannelIdentity {
    pub(in crate::protocols) user: Rc<UserState>,
    /// Name and series of its opening.
    pub(in crate::protocols) name: Arc<str>,
    pub(in crate::protocols) series: SeriesId,
    /// Unread messages are discarded if no step waits for them.
    pub(in crate::protocols) drops_unread: bool,
    /// It stays open after its iteration.
    pub(in crate::protocols) is_kept: bool,
}

/// The user holds it while it is open, and the script's object does.
pub(in crate::protocols) struct MessageChannel {
    pub(in crate::protocols) identity: ChannelIdentity,
    connection: RefCell<Option<Rc<dyn ChannelConnection>>>,
    inbox: RefCell<Inbox>,
    waiters: RefCell<Vec<Rc<ChannelWaiter>>>,
    end: RefCell<Option<ChannelEnd>>,
    /// The script, or the end of its iteration, is closing it.
    leaving: Cell<bool>,
    /// The last ping that was answered, and when.
    ponged: Cell<(u64, Nanos)>,
    reader: RefCell<Weak<OperationSlot>>,
}

impl MessageChannel {
    /// A channel that was opened, or `Err`: why it was not.
    pub(in crate::protocols) fn new(identity: ChannelIdentity, opened: Result<Rc<dyn ChannelConnection>, ChannelEnd>) -> Rc<Self> {
        let (connection, end) = match opened {
            Ok(connection) => (Some(connection), None),
            Err(end) => (None, Some(end)),
        };
        Rc::new(Self {
            identity,
            connection: RefCell::new(connection),
            inbox: RefCell::default(),
            waiters: RefCell::default(),
            end: RefCell::new(end),
            leaving: Cell::default(),
            ponged: Cell::default(),
            reader: RefCell::default(),
        })
    }

    /// Reads with `work` until the channel ends, so that messages are timed whether or not the script waits for them. The user closes the
    /// channel from now on.
    pub(in crate::protocols) fn read_with(self: &Rc<Self>, work: impl Future<Output = ()> + 'static) {
        let user = &self.identity.user;
        if let Some(slot) = user.background(work) {
            *self.reader.borrow_mut() = Rc::downgrade(&slot);
            OpenChannels::of(user).0.borrow_mut().push(Rc::clone(self));
        }
    }

    pub(in crate::protocols) fn is_open(&self) -> bool {
        self.connection.borrow().is_some() && !self.leaving.get()
    }

    /// # Errors
    /// Why nothing can be sent.
    pub(in crate::protocols) fn check_open(&self) -> Result<(), Failure> {
        if self.is_open() { Ok(()) } else { Err(self.not_open()) }
    }

    /// The failure of a step that begins on a channel that is not open. It sends nothing, so it has no time.
    pub(in crate::protocols) fn not_open(&self) -> Failure {
        let (outcome, message) = match self.end() {
            Some(end) => (end.outcome, end.message),
            None => (Outcome::Closed, "the script has closed it".to_owned()),
        };
        Failure::new(if outcome.is_by_generator() { outcome } else { Outcome::NotConnected }, message)
    }

    /// Why it could not be opened, or was lost.
    pub(in crate::protocols) fn loss(&self) -> Option<String> {
        let end = self.end.borrow();
        end.as_ref().filter(|end| !self.leaving.get() && !end.is_ordinary()).map(|end| end.message.clone())
    }

    pub(in crate::protocols) fn end(&self) -> Option<ChannelEnd> {
        self.end.borrow().clone()
    }

    pub(in crate::protocols) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }
}

/// Its messages.
impl MessageChannel {
    /// A message has arrived.
    pub(in crate::protocols) fn keep(&self, message: ArrivedMessage) {
        self.show(MessageDirection::Received, None, &message.payload, message.labels.as_deref());
        self.inbox.borrow_mut().push(message);
        self.forget_unread();
        self.wake_all();
    }

    /// Number of the next message.
    pub(in crate::protocols) fn number_next(&self) -> u64 {
        self.inbox.borrow().number_next()
    }

    /// The first message, beginning with a number, that arrived in time and contains the text, if there is one.
    pub(super) fn candidate(&self, from: u64, text: Option<&str>, due: Nanos) -> Option<u64> {
        self.inbox.borrow().candidate(from, text, due)
    }

    /// Takes a message out of the queue.
    pub(super) fn take(&self, number: u64) -> Option<ArrivedMessage> {
        self.inbox.borrow_mut().take(number)
    }

    /// Returns a message that did not match to the queue.
    pub(super) fn put_back(&self, number: u64, message: ArrivedMessage) {
        self.inbox.borrow_mut().put_back(number, message);
    }

    /// Discards messages that no step waits for, if the channel is set to do so.
    pub(super) fn forget_unread(&self) {
        if self.identity.drops_unread {
            let wanted_from = self.waiters.borrow().iter().filter_map(|waiter| waiter.wants_from()).min().unwrap_or(u64::MAX);
            self.inbox.borrow_mut().forget_before(wanted_from);
        }
    }

    pub(in crate::protocols) fn is_overfull(&self) -> bool {
        self.inbox.borrow().is_overfull()
    }

    /// Shows a message. `series`: of its step, if that has a name.
    pub(in crate::protocols) fn show(
        &self,
        direction: MessageDirection,
        series: Option<SeriesId>,
        payload: &Payload,
        labels: Option<&EventLabels>,
    ) {
        let user = &self.identity.user;
        let Some(messages) = &user.worker.sinks.messages else { return };
        let body = match payload {
            Payload::Text(text) => text.as_bytes(),
            Payload::Binary(bytes) => &bytes[..],
        };
        let (event, id) = labels.map_or((None, None), |labels| (Some(&*labels.event), Some(&*labels.id)));
        let name = series.map_or_else(|| Arc::clone(&self.identity.name), |series| user.worker.recorder.borrow().key(series).name.clone());
        messages(&TracedMessage { scenario: &user.scenario.name, name: &name, direction, body, event, id });
    }

    /// The ping of this number was answered.
    pub(in crate::protocols) fn note_pong(&self, number: u64, at: Nanos) {
        self.ponged.set((number, at));
        self.wake_all();
    }

    /// When the ping of that number, or a later one, was answered.
    pub(super) fn ponged(&self, number: u64) -> Option<Nanos> {
        let (answered, at) = self.ponged.get();
        (answered >= number).then_some(at)
    }
}

/// Its waiters, and its end.
impl MessageChannel {
    pub(super) fn join(&self, waiter: Rc<ChannelWaiter>) {
        self.waiters.borrow_mut().push(waiter);
    }

    pub(super) fn leave_off(&self, waiter: &Rc<ChannelWaiter>) {
        self.waiters.borrow_mut().retain(|other| !Rc::ptr_eq(other, waiter));
        self.forget_unread();
    }

    fn wake_all(&self) {
        self.waiters.borrow().iter().for_each(|waiter| waiter.wake());
    }

    /// The channel was lost or closed.
    pub(in crate::protocols) fn finish(&self, end: ChannelEnd) {
        if self.has_ended() {
            return;
        }
        // A waiting response records the loss. Otherwise it is recorded here.
        let counted = self.waiters.borrow().iter().any(|waiter| waiter.is_measured());
        let lost = !self.leaving.get() && !end.is_ordinary();
        if lost && !counted {
            self.count_loss(end.outcome, &end.message);
        }
        self.end_with(end);
    }

    /// Its end, for a caller that records the loss elsewhere.
    pub(in crate::protocols) fn end_with(&self, end: ChannelEnd) {
        *self.end.borrow_mut() = Some(end);
        self.release();
        self.wake_all();
    }

    /// Adds a loss to the list of errors and fails the iteration.
    pub(in crate::protocols) fn count_loss(&self, outcome: Outcome, message: &str) {
        let user = &self.identity.user;
        if outcome == Outcome::Unsendable {
            // Not lost: the generator refused to open it.
            return MeasuredStep::of_series(user, None, self.identity.series).record_refused(user, message);
        }
        user.worker.recorder.borrow_mut().error(self.identity.series, outcome, user.now(), message);
        user.note_failure(outcome, user.epoch(), None);
    }

    /// Drops the connection.
    fn release(&self) {
        self.connection.borrow_mut().take();
        let reader = std::mem::take(&mut *self.reader.borrow_mut());
        if let Some(reader) = reader.upgrade() {
            reader.cancel();
        }
        OpenChannels::of(&self.identity.user).0.borrow_mut().retain(|held| !std::ptr::eq(&**held, self));
    }

    /// Closes without waiting for the server: the goodbye is written as far as the kernel accepts it.
    pub(super) fn leave(&self) {
        self.leaving.set(true);
        let connection = self.connection.borrow().clone();
        if let Some(connection) = connection {
            connection.send_close(GOING_AWAY, "");
        }
        self.finish(ChannelEnd::broken(Outcome::Closed, "the user has left"));
    }

    /// Begins to close. `closing::closed` waits for the end.
    pub(in crate::protocols) fn begin_closing(&self, code: u16, reason: &str) {
        if self.leaving.replace(true) {
            return;
        }
        let connection = self.connection.borrow().clone();
        if let Some(end) = connection.and_then(|connection| connection.send_close(code, reason)) {
            self.finish(end);
        }
    }
}

/// The open channels of one user. `closing` closes them.
#[derive(Default)]
pub(super) struct OpenChannels(RefCell<Vec<Rc<MessageChannel>>>);

impl OpenChannels {
    fn of(user: &UserState) -> Rc<Self> {
        user.part(|_| Self::default())
    }

    pub(super) fn all(&self) -> Vec<Rc<MessageChannel>> {
        self.0.borrow().clone()
    }

    pub(super) fn take_all(&self) -> Vec<Rc<MessageChannel>> {
        std::mem::take(&mut *self.0.borrow_mut())
    }
}

/// Lets the other operations of the worker run.
pub(in crate::protocols) async fn yield_now() {
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
