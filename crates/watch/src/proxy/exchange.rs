//! The requests of one connection that have no complete response yet, in order. Both directions of the connection share it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome, Phases};
use tokio::sync::{Notify, mpsc};

use super::framing::{FramedMethod, SwitchedProtocol};
use super::record::{ProxiedRequest, ProxyDelay, ProxyRecord};
use super::stamped::StampedSocket;
use crate::entry::outcome_of;

/// Requests of a connection that are sent on before the first of them is answered. Further ones wait.
const PIPELINED_MAX: usize = 256;

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct AwaitedRequest {
    pub(super) method: FramedMethod,
    pub(super) name: String,
    pub(super) sent_at: Nanos,
    pub(super) bytes_sent: u64,
    /// When its last byte was sent on.
    pub(super) forwarded_at: Option<Nanos>,
    pub(super) delay_ns: u64,
    pub(super) status: u16,
    /// When the first byte of its response arrived.
    pub(super) answered_at: Option<Nanos>,
    pub(super) bytes_received: u64,
}

/// The state of one connection. Single-threaded.
pub(super) struct ProxiedExchange {
    pending: RefCell<VecDeque<AwaitedRequest>>,
    /// The number of the first pending request of the connection.
    first: Cell<u64>,
    /// The client's bytes are another protocol, or not understood. The requests before have responses.
    pub(super) passes_requests: Cell<bool>,
    /// So are those of the target.
    pub(super) passes_responses: Cell<bool>,
    /// The protocol of both directions from now on, until it is reported.
    pub(super) switched_to: Cell<Option<SwitchedProtocol>>,
    /// When the client ended its side. It may have closed the connection, or wait for responses.
    pub(super) client_ended_at: Cell<Option<Nanos>>,
    /// When the connection to the target was open.
    pub(super) connected_at: Nanos,
    /// Time to open it, which the first request may have waited for. Nanoseconds.
    connect_ns: Cell<u64>,
    has_room: Notify,
    records: mpsc::Sender<ProxyRecord>,
    zero: Monotonic,
    /// The client's. `None`: it has none.
    client: Option<Rc<StampedSocket>>,
}

impl ProxiedExchange {
    /// A connection whose target is reached now.
    pub(super) fn new(records: mpsc::Sender<ProxyRecord>, zero: Monotonic, client: Option<Rc<StampedSocket>>) -> Self {
        Self {
            pending: RefCell::default(),
            first: Cell::new(0),
            passes_requests: Cell::new(false),
            passes_responses: Cell::new(false),
            switched_to: Cell::new(None),
            client_ended_at: Cell::new(None),
            connected_at: zero.now(),
            connect_ns: Cell::new(0),
            has_room: Notify::new(),
            records,
            zero,
            client,
        }
    }

    /// Neither direction is read any more.
    pub(super) fn passes_all(&self) {
        self.passes_requests.set(true);
        self.passes_responses.set(true);
    }

    /// Waits until no request waits for its response.
    pub(super) async fn all_answered(&self) {
        while !self.pending.borrow().is_empty() {
            self.has_room.notified().await;
        }
    }

    /// Whether the client takes what was sent to it. While it sends itself, it does.
    pub(super) async fn is_delivered(&self) -> bool {
        match &self.client {
            Some(client) if self.client_ended_at.get().is_some() => client.is_delivered().await,
            _ => true,
        }
    }

    /// Waits while too many requests have no response.
    pub(super) async fn room(&self) {
        while self.pending.borrow().len() >= PIPELINED_MAX {
            self.has_room.notified().await;
        }
    }

    /// Adds a request. Returns its number.
    pub(super) fn begin(&self, method: FramedMethod, name: String, sent_at: Nanos) -> u64 {
        let number = self.first.get() + self.pending.borrow().len() as u64;
        if number == 0 {
            self.connect_ns.set(self.connected_at.saturating_sub(sent_at));
        }
        self.pending.borrow_mut().push_back(AwaitedRequest {
            method,
            name,
            sent_at,
            bytes_sent: 0,
            forwarded_at: None,
            delay_ns: 0,
            status: 0,
            answered_at: None,
            bytes_received: 0,
        });
        number
    }

    /// Changes a request, unless it has ended: a server may respond before it has read all.
    pub(super) fn change(&self, number: u64, change: impl FnOnce(&mut AwaitedRequest)) {
        if let Some(index) = number.checked_sub(self.first.get())
            && let Some(request) = self.pending.borrow_mut().get_mut(index as usize)
        {
            change(request);
        }
    }

    /// The method of the request that is answered next. `None`: nobody has asked.
    pub(super) fn answered(&self) -> Option<FramedMethod> {
        self.pending.borrow().front().map(|request| request.method)
    }

    /// Changes the request that is answered next.
    pub(super) fn change_answered(&self, change: impl FnOnce(&mut AwaitedRequest)) {
        if let Some(request) = self.pending.borrow_mut().front_mut() {
            change(request);
        }
    }

    /// Takes the request whose response is complete.
    pub(super) fn take_answered(&self) -> Option<AwaitedRequest> {
        let request = self.pending.borrow_mut().pop_front()?;
        self.first.set(self.first.get() + 1);
        self.has_room.notify_one();
        Some(request)
    }

    pub(super) async fn record(&self, request: ProxiedRequest) {
        // The reader is gone only at the end.
        let _ = self.records.send(ProxyRecord::Request(Box::new(request))).await;
    }

    /// A complete response was sent on.
    pub(super) async fn complete(&self, request: AwaitedRequest, ended_at: Nanos, delay_ns: u64) {
        let outcome = outcome_of(request.status);
        let delay = request.forwarded_at.map(|_| ProxyDelay { of_request: request.delay_ns, of_response: delay_ns });
        self.record(ProxiedRequest { delay, ..self.ended(request, ended_at, outcome) }).await;
    }

    /// The client gave up the requests without a response, and those whose responses it did not take.
    pub(super) async fn abort(&self, answered: Vec<AwaitedRequest>) {
        let pending: Vec<AwaitedRequest> = std::iter::from_fn(|| self.take_answered()).collect();
        for request in answered.into_iter().chain(pending) {
            self.record(self.aborted(request)).await;
        }
    }

    fn aborted(&self, request: AwaitedRequest) -> ProxiedRequest {
        let at = self.client_ended_at.get().unwrap_or_else(|| self.zero.now());
        let message = "the client closed the connection before the response was complete".to_owned();
        ProxiedRequest { message, is_aborted: true, ..self.ended(request, at, Outcome::Timeout) }
    }

    /// The target ended the connection, or sent something that is no response.
    pub(super) async fn fail(&self, now: Nanos, outcome: Outcome, message: &str) {
        while let Some(request) = self.take_answered() {
            self.record(ProxiedRequest { message: message.to_owned(), ..self.ended(request, now, outcome) }).await;
        }
    }

    /// What follows is passed on without a record.
    pub(super) async fn not_recorded(&self, why: String) {
        let _ = self.records.send(ProxyRecord::NotRecorded(why)).await;
    }

    fn ended(&self, request: AwaitedRequest, ended_at: Nanos, outcome: Outcome) -> ProxiedRequest {
        let answered_at = request.answered_at.unwrap_or(ended_at);
        ProxiedRequest {
            sent_at: request.sent_at,
            ended_at,
            phases: Phases {
                connect: self.connect_ns.take(),
                wait: request.forwarded_at.map_or(0, |at| answered_at.saturating_sub(at)),
                body: ended_at.saturating_sub(answered_at),
                ..Phases::default()
            },
            outcome,
            status: request.status,
            message: String::new(),
            bytes_sent: request.bytes_sent,
            bytes_received: request.bytes_received,
            delay: None,
            is_aborted: false,
            name: request.name,
        }
    }
}

/// The end of the run cuts off the requests that have no response.
impl Drop for ProxiedExchange {
    fn drop(&mut self) {
        while let Some(request) = self.take_answered() {
            // Without room, more requests wait for their reader than a second can have.
            let _ = self.records.try_send(ProxyRecord::Request(Box::new(self.aborted(request))));
        }
    }
}
