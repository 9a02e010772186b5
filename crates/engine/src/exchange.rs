//! How the workers of an open leaf share its maximum of users. Each worker may create its share of them, and an arrival that waits on one worker
//! moves to another worker with a free user.
//!
//! An arrival moves only while its worker queues, and on request of the worker with the free user: one [`Message`] each way. Otherwise an idle worker
//! only reads one shared flag.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::arrivals::Due;

/// A message between workers.
#[derive(Debug)]
pub(crate) enum Message {
    /// Arrivals have begun to wait on some worker, or no longer wait.
    Recheck,
    /// The sending worker has a user free for an arrival of the receiver.
    Free { worker: usize },
    /// The reply to `Free`: an arrival, or `None` if none waits any more.
    Arrival(Option<Due>),
}

/// State that all workers of a leaf share.
#[derive(Debug)]
pub(crate) struct ArrivalExchange {
    /// How many workers queue, and which.
    queueing: AtomicUsize,
    queues: Vec<AtomicBool>,
    senders: Vec<Sender<Message>>,
    /// Each receiver, until its worker takes it.
    inboxes: Vec<Mutex<Option<Receiver<Message>>>>,
}

impl ArrivalExchange {
    pub(crate) fn new(workers: usize) -> Self {
        // A worker has at most one pending offer, and notifies the others twice per stretch of queueing.
        let (senders, inboxes) = (0..workers).map(|_| channel(16 + 4 * workers)).unzip::<_, _, Vec<_>, Vec<_>>();
        Self {
            queueing: AtomicUsize::new(0),
            queues: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            senders,
            inboxes: inboxes.into_iter().map(|inbox| Mutex::new(Some(inbox))).collect(),
        }
    }

    fn send(&self, to: usize, message: Message) -> bool {
        self.senders.get(to).is_some_and(|post| post.try_send(message).is_ok())
    }
}

/// One worker's access to the exchange.
pub(crate) struct ExchangePlace {
    exchange: Arc<ArrivalExchange>,
    worker: usize,
    inbox: RefCell<Option<Receiver<Message>>>,
    queues: Cell<bool>,
    /// An offer of this worker has not been answered yet.
    offering: Cell<bool>,
}

impl ExchangePlace {
    pub(crate) fn new(exchange: Arc<ArrivalExchange>, worker: usize) -> Self {
        // Taken once, before any load. With a poisoned lock or a missing inbox the worker runs without the exchange.
        let inbox = exchange.inboxes.get(worker).and_then(|inbox| inbox.lock().ok()?.take());
        Self { exchange, worker, inbox: RefCell::new(inbox), queues: Cell::new(false), offering: Cell::new(false) }
    }

    /// Publishes whether arrivals wait here although this worker has its maximum of users.
    pub(crate) fn set_queueing(&self, queues: bool) {
        if self.queues.replace(queues) == queues {
            return;
        }
        // Relaxed: a worker that reads it too early receives a `Look` message.
        self.exchange.queues[self.worker].store(queues, Ordering::Relaxed);
        if queues {
            self.exchange.queueing.fetch_add(1, Ordering::Relaxed);
        } else {
            self.exchange.queueing.fetch_sub(1, Ordering::Relaxed);
        }
        for other in (0..self.exchange.senders.len()).filter(|other| *other != self.worker) {
            // A full inbox is being processed anyway.
            self.exchange.send(other, Message::Recheck);
        }
    }

    /// Whether other workers may still need this one: arrivals wait on another worker, or one is being sent here.
    pub(crate) fn is_needed(&self) -> bool {
        self.offering.get() || self.exchange.queueing.load(Ordering::Relaxed) > usize::from(self.queues.get())
    }

    /// Offers a free user to a worker that queues, if there is one.
    pub(crate) fn offer(&self) {
        if self.offering.get() || self.exchange.queueing.load(Ordering::Relaxed) == 0 {
            return;
        }
        let workers = self.exchange.senders.len();
        let others = (1..workers).map(|step| (self.worker + step) % workers);
        let mut queueing = others.filter(|other| self.exchange.queues[*other].load(Ordering::Relaxed));
        self.offering.set(queueing.any(|other| self.exchange.send(other, Message::Free { worker: self.worker })));
    }

    /// Answers an offer. `next` is called only if the answer will be delivered.
    pub(crate) fn answer(&self, to: usize, next: impl FnOnce() -> Option<Due>) {
        if let Some(Ok(place)) = self.exchange.senders.get(to).map(Sender::try_reserve) {
            place.send(Message::Arrival(next()));
        }
    }

    /// The next message. Never ready again after [`ExchangePlace::leave`].
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

    /// Ends this worker's part of the leaf: no worker may wait for its answer.
    pub(crate) fn leave(&self) {
        self.set_queueing(false);
        if let Some(mut inbox) = self.inbox.take() {
            inbox.close();
            while let Ok(message) = inbox.try_recv() {
                // A worker that offered a user waits for an answer.
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
