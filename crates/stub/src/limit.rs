//! Limits an endpoint sets: how fast, how many at once, how many bytes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::oneshot;

/// Requests above the rate are rejected with `status` and a Retry-After of whole seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    pub per_second: f64,
    /// Requests that may come at once after a pause; at least 1.
    pub burst: f64,
    pub status: u16,
    /// What `Retry-After` says; `None`: the time until there is room again.
    pub retry_after_ns: Option<u64>,
}

/// At most `most` requests are served at once, `queue_most` more wait first-in first-out, and the rest get `status`.
/// A place is held from admission until the response has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    pub most: usize,
    pub queue_most: usize,
    pub status: u16,
}

/// A token bucket on the caller's clock.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: Cell<f64>,
    filled_ns: Cell<u64>,
}

impl TokenBucket {
    pub(crate) fn new(limit: &RateLimit, now_ns: u64) -> Self {
        let burst = limit.burst.max(1.0);
        Self { per_second: limit.per_second, burst, tokens: Cell::new(burst), filled_ns: Cell::new(now_ns) }
    }

    /// Takes a token, or says after how many nanoseconds there will be one.
    pub(crate) fn take(&self, now_ns: u64) -> Result<(), u64> {
        let earned = now_ns.saturating_sub(self.filled_ns.get()) as f64 / 1e9 * self.per_second;
        let tokens = (self.tokens.get() + earned).min(self.burst);
        self.filled_ns.set(now_ns);
        if tokens >= 1.0 {
            self.tokens.set(tokens - 1.0);
            return Ok(());
        }
        self.tokens.set(tokens);
        Err(((1.0 - tokens) / self.per_second * 1e9).ceil() as u64)
    }
}

/// A first-in first-out gate: at most so many inside, at most so many waiting.
#[derive(Clone)]
pub(crate) struct Gate {
    inner: Rc<GateInner>,
}

struct GateInner {
    limit: Concurrency,
    inside: Cell<usize>,
    waiting: RefCell<VecDeque<oneshot::Sender<Permit>>>,
}

/// Holds a place inside the gate until dropped.
pub(crate) struct Permit {
    /// `None` once the place has been given back.
    gate: Option<Rc<GateInner>>,
}

/// The queue before the gate is full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GateFull;

impl Gate {
    pub(crate) fn new(limit: Concurrency) -> Self {
        Self { inner: Rc::new(GateInner { limit, inside: Cell::new(0), waiting: RefCell::default() }) }
    }

    pub(crate) async fn enter(&self) -> Result<Permit, GateFull> {
        if self.inner.inside.get() < self.inner.limit.most {
            self.inner.inside.set(self.inner.inside.get() + 1);
            return Ok(Permit { gate: Some(Rc::clone(&self.inner)) });
        }
        let receiver = {
            let mut waiting = self.inner.waiting.borrow_mut();
            if waiting.len() >= self.inner.limit.queue_most {
                // Callers that have gone away keep no place.
                waiting.retain(|sender| !sender.is_closed());
            }
            if waiting.len() >= self.inner.limit.queue_most {
                return Err(GateFull);
            }
            let (sender, receiver) = oneshot::channel();
            waiting.push_back(sender);
            receiver
        };
        receiver.await.map_err(|_| GateFull)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(gate) = self.gate.take() else { return };
        loop {
            let next = gate.waiting.borrow_mut().pop_front();
            let Some(sender) = next else { return gate.inside.set(gate.inside.get() - 1) };
            // The place passes to the next in line; one who has gone away hands it back.
            match sender.send(Permit { gate: Some(Rc::clone(&gate)) }) {
                Ok(()) => return,
                Err(mut refused) => refused.gate = None,
            }
        }
    }
}

/// A link that all responses of an endpoint share: bytes leave one after another at a fixed rate.
#[derive(Debug)]
pub(crate) struct Link {
    bytes_per_second: u64,
    free_ns: Cell<u64>,
}

impl Link {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_ns: Cell::new(0) }
    }

    /// The instant at which the last of `bytes` has left.
    pub(crate) fn send(&self, bytes: usize, now_ns: u64) -> u64 {
        let takes_ns = bytes as u64 * 1_000_000_000 / self.bytes_per_second;
        let done_ns = self.free_ns.get().max(now_ns).saturating_add(takes_ns);
        self.free_ns.set(done_ns);
        done_ns
    }
}
