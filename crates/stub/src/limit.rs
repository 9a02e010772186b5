//! Limits of an endpoint: rate, concurrency, bandwidth.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;

/// Requests above the rate are rejected with `status` and a Retry-After of whole seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    pub per_second: f64,
    /// Number of requests that may arrive at once after a pause. At least 1.
    pub burst: f64,
    pub status: u16,
    /// The value of `Retry-After`. `None`: the time until there is room again.
    pub retry_after_ns: Option<u64>,
}

/// At most `most` requests are served at once. `queue_most` more wait in first-in, first-out order, and the rest receive `status`. A
/// request holds its permit from admission until the response has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    pub most: usize,
    pub queue_most: usize,
    pub status: u16,
}

/// How many requests an endpoint serves at once. It can change while the endpoint serves. Clones are cheap and share the number.
#[derive(Debug, Clone)]
pub struct PlaceCount(Arc<AtomicUsize>);

impl PlaceCount {
    pub fn new(most: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(most)))
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A lower number takes effect as requests end, a higher one with the next request that arrives or ends.
    pub fn set(&self, most: usize) {
        self.0.store(most, Ordering::Relaxed);
    }
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

    /// Takes a token, or returns the nanoseconds until there is one.
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

/// A first-in, first-out gate with a limit on the requests inside and on the requests that wait.
#[derive(Clone)]
pub(crate) struct Gate {
    inner: Rc<GateInner>,
}

struct GateInner {
    most: PlaceCount,
    limit: Concurrency,
    inside: Cell<usize>,
    waiting: RefCell<VecDeque<oneshot::Sender<Permit>>>,
}

/// Holds a permit of the gate until dropped.
pub(crate) struct Permit {
    /// `None` once the permit has been returned.
    gate: Option<Rc<GateInner>>,
}

/// The queue before the gate is full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GateFull;

impl Gate {
    /// `most` replaces the limit's number, which may change.
    pub(crate) fn new(limit: Concurrency, most: Option<PlaceCount>) -> Self {
        let most = most.unwrap_or_else(|| PlaceCount::new(limit.most));
        Self { inner: Rc::new(GateInner { most, limit, inside: Cell::new(0), waiting: RefCell::default() }) }
    }

    pub(crate) async fn enter(&self) -> Result<Permit, GateFull> {
        self.inner.admit();
        if self.inner.inside.get() < self.inner.most.get() {
            self.inner.inside.set(self.inner.inside.get() + 1);
            return Ok(Permit { gate: Some(Rc::clone(&self.inner)) });
        }
        let receiver = {
            let mut waiting = self.inner.waiting.borrow_mut();
            if waiting.len() >= self.inner.limit.queue_most {
                // Callers that have left hold no permit.
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

impl GateInner {
    /// Grants free permits in order of arrival, and skips callers that have left.
    fn admit(self: &Rc<Self>) {
        while self.inside.get() < self.most.get() {
            let Some(sender) = self.waiting.borrow_mut().pop_front() else { return };
            match sender.send(Permit { gate: Some(Rc::clone(self)) }) {
                Ok(()) => self.inside.set(self.inside.get() + 1),
                Err(mut refused) => refused.gate = None,
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(gate) = self.gate.take() else { return };
        gate.inside.set(gate.inside.get() - 1);
        gate.admit();
    }
}

/// A link that all responses of an endpoint share. It sends bytes one after another at a fixed rate.
#[derive(Debug)]
pub(crate) struct Link {
    bytes_per_second: u64,
    free_ns: Cell<u64>,
}

impl Link {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_ns: Cell::new(0) }
    }

    /// The instant at which the last of `bytes` has been sent.
    pub(crate) fn send(&self, bytes: usize, now_ns: u64) -> u64 {
        let takes_ns = bytes as u64 * 1_000_000_000 / self.bytes_per_second;
        let done_ns = self.free_ns.get().max(now_ns).saturating_add(takes_ns);
        self.free_ns.set(done_ns);
        done_ns
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::{LocalSet, spawn_local, yield_now};

    use super::*;

    #[test]
    fn waiting_requests_receive_added_permits() {
        let places = PlaceCount::new(1);
        let gate = Gate::new(Concurrency { most: 1, queue_most: usize::MAX, status: 503 }, Some(places.clone()));
        let inside = Rc::new(Cell::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            for _ in 0..3 {
                let (gate, inside) = (gate.clone(), Rc::clone(&inside));
                spawn_local(async move {
                    let _permit = gate.enter().await;
                    inside.set(inside.get() + 1);
                    std::future::pending::<()>().await;
                });
            }
            yield_now().await;
            assert_eq!(inside.get(), 1);
            places.set(4);
            // The next arrival admits them first.
            let last = gate.enter().await.unwrap();
            yield_now().await;
            assert_eq!(inside.get(), 3);
            // With a lower limit, a returned permit is not granted again.
            places.set(3);
            drop(last);
            assert_eq!(gate.inner.inside.get(), 3);
            assert!(tokio::time::timeout(std::time::Duration::ZERO, gate.enter()).await.is_err());
        });
    }
}
