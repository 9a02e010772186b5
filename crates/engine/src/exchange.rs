//! How the workers of an open leaf share its maximum of users: each may have its part of them, and an arrival that waits on one worker goes to
//! another that has a user free.
//!
//! An arrival crosses only while its worker queues, and on the request of whoever is free: one [`Message`] there and one back. Otherwise a
//! worker that has nothing to do reads one shared flag, and no more.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::arrivals::Due;

/// What the workers tell each other.
#[derive(Debug)]
pub(crate) enum Message {
    /// Arrivals begin to wait somewhere, or no longer do.
    Look,
    /// This worker has a user free for an arrival of the receiver's.
    Free { worker: usize },
    /// The answer: an arrival, unless none waits any more.
    Arrival(Option<Due>),
}

/// What all workers of a leaf have in common.
#[derive(Debug)]
pub(crate) struct ArrivalExchange {
    /// How many workers queue, and which.
    queueing: AtomicUsize,
    queues: Vec<AtomicBool>,
    posts: Vec<Sender<Message>>,
    /// Until its worker takes it.
    inboxes: Vec<Mutex<Option<Receiver<Message>>>>,
}

impl ArrivalExchange {
    pub(crate) fn new(workers: usize) -> Self {
        // A worker has at most one offer under way, and says twice per stretch of queueing that others are to look.
        let (posts, inboxes) = (0..workers).map(|_| channel(16 + 4 * workers)).unzip::<_, _, Vec<_>, Vec<_>>();
        Self {
            queueing: AtomicUsize::new(0),
            queues: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            posts,
            inboxes: inboxes.into_iter().map(|inbox| Mutex::new(Some(inbox))).collect(),
        }
    }

    fn post(&self, to: usize, message: Message) -> bool {
        self.posts.get(to).is_some_and(|post| post.try_send(message).is_ok())
    }
}

/// One worker's place in the exchange.
pub(crate) struct ExchangePlace {
    exchange: Arc<ArrivalExchange>,
    worker: usize,
    inbox: RefCell<Option<Receiver<Message>>>,
    queues: Cell<bool>,
    /// An offer of this worker is not answered yet.
    offering: Cell<bool>,
}

impl ExchangePlace {
    pub(crate) fn new(exchange: Arc<ArrivalExchange>, worker: usize) -> Self {
        // Taken once, before any load; a lock that is poisoned or an inbox that is gone leaves the worker to itself.
        let inbox = exchange.inboxes.get(worker).and_then(|inbox| inbox.lock().ok()?.take());
        Self { exchange, worker, inbox: RefCell::new(inbox), queues: Cell::new(false), offering: Cell::new(false) }
    }

    /// Says whether arrivals wait here though this worker has as many users as it may.
    pub(crate) fn set_queueing(&self, queues: bool) {
        if self.queues.replace(queues) == queues {
            return;
        }
        // Relaxed: who reads it too early is told to look again.
        self.exchange.queues[self.worker].store(queues, Ordering::Relaxed);
        if queues {
            self.exchange.queueing.fetch_add(1, Ordering::Relaxed);
        } else {
            self.exchange.queueing.fetch_sub(1, Ordering::Relaxed);
        }
        for other in (0..self.exchange.posts.len()).filter(|other| *other != self.worker) {
            // An inbox that is full is being looked through.
            self.exchange.post(other, Message::Look);
        }
    }

    /// Whether this worker may yet be needed: arrivals wait on another, or one is on its way here.
    pub(crate) fn is_needed(&self) -> bool {
        self.offering.get() || self.exchange.queueing.load(Ordering::Relaxed) > usize::from(self.queues.get())
    }

    /// Offers a free user to a worker that queues, if there is one.
    pub(crate) fn offer(&self) {
        if self.offering.get() || self.exchange.queueing.load(Ordering::Relaxed) == 0 {
            return;
        }
        let workers = self.exchange.posts.len();
        let others = (1..workers).map(|step| (self.worker + step) % workers);
        let mut queueing = others.filter(|other| self.exchange.queues[*other].load(Ordering::Relaxed));
        self.offering.set(queueing.any(|other| self.exchange.post(other, Message::Free { worker: self.worker })));
    }

    /// Answers an offer; `next` is asked only when the answer will arrive.
    pub(crate) fn answer(&self, to: usize, next: impl FnOnce() -> Option<Due>) {
        if let Some(Ok(place)) = self.exchange.posts.get(to).map(Sender::try_reserve) {
            place.send(Message::Arrival(next()));
        }
    }

    /// The next message. Never ready again once the place was left.
    pub(crate) fn poll_message(&self, context: &mut Context<'_>) -> Poll<Message> {
        let mut inbox = self.inbox.borrow_mut();
        let Some(inbox) = inbox.as_mut() else { return Poll::Pending };
        match inbox.poll_recv(context) {
            Poll::Ready(Some(message)) => {
                if matches!(message, Message::Arrival(_)) {
                    self.offering.set(false);
                }
                Poll::Ready(message)
            }
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// This worker's part of the leaf is over: nobody is to wait for its answer.
    pub(crate) fn leave(&self) {
        self.set_queueing(false);
        if let Some(mut inbox) = self.inbox.take() {
            inbox.close();
            while let Ok(message) = inbox.try_recv() {
                // Whoever offered a user waits for an answer.
                if let Message::Free { worker } = message {
                    self.answer(worker, || None);
                }
            }
        }
    }
}

impl Drop for ExchangePlace {
    fn drop(&mut self) {
        self.leave();
    }
}
