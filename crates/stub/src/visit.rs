//! The steps of a request through its endpoint, for every protocol: limits, fault, function, wait, in that order. Read [`pass`].
//!
//! Deliberately absent: reading requests and writing answers, which `serve`, `grpc` and `tcp` do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::clock::now_ns;
use crate::endpoint::Endpoint;
use crate::held::{HeldCall, HeldCalls};
use crate::limit::Permit;
use crate::recording::{CallRecorder, TCP_CLOSED};
use crate::seconds::CallEnding;
use crate::timer::DeadlineTimer;
use crate::{Fault, Reply, SeededRandom, StubRequest, TcpTalk};

/// State that the connections of one server share. Single-threaded.
pub(crate) struct ServerState {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) recorder: RefCell<CallRecorder>,
    pub(crate) random: RefCell<SeededRandom>,
    pub(crate) timer: DeadlineTimer,
    pub(crate) held: Rc<HeldCalls>,
    pub(crate) started_ns: u64,
    /// Of this server, for the receiver of its calls.
    pub(crate) number: usize,
    /// Open streams of one connection of HTTP/2.
    pub(crate) streams_max: Option<u32>,
    /// Replaces HTTP.
    pub(crate) tcp: Option<TcpTalk>,
}

/// A request's entry in the recording. It is closed when its response has been sent or its client has left.
pub(crate) struct Visit {
    state: Rc<ServerState>,
    route: usize,
    arrived_ns: u64,
    status: Cell<Option<u16>>,
    ending: Cell<CallEnding>,
    held_ns: Cell<u64>,
    /// The server waits for its answer before it stops.
    held: Cell<Option<HeldCall>>,
}

impl Visit {
    fn new(state: &Rc<ServerState>, route: usize, arrived_ns: u64, held: HeldCall) -> Self {
        let (status, ending, held_ns) = (Cell::new(None), Cell::new(CallEnding::Abandoned), Cell::new(0));
        Self { state: Rc::clone(state), route, arrived_ns, status, ending, held_ns, held: Cell::new(Some(held)) }
    }

    fn ends(&self, status: u16, ending: CallEnding) {
        self.status.set(Some(self.state.endpoints[self.route].recorded(status)));
        self.ending.set(ending);
    }

    fn is_reset(&self) {
        self.status.set(Some(0));
        self.ending.set(CallEnding::Faulted);
    }

    /// Its connection was closed without an answer.
    pub(crate) fn closed(&self) {
        self.status.set(Some(TCP_CLOSED));
    }

    pub(crate) fn answered(&self, status: u16) {
        self.ends(status, CallEnding::Answered);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut recorder = self.state.recorder.borrow_mut();
        let now_ns = now_ns();
        recorder.departed(self.route, self.arrived_ns, now_ns, self.status.get());
        recorder.ended(now_ns, self.ending.get(), self.held_ns.get());
    }
}

/// A request that has been read.
pub(crate) struct ArrivedRequest {
    pub(crate) at_ns: u64,
    pub(crate) bytes: usize,
    pub(crate) held: HeldCall,
}

/// When a request arrived and when it is due, on CLOCK_MONOTONIC, and the number of earlier requests to its route.
pub(crate) struct Moments {
    pub(crate) arrived_ns: u64,
    pub(crate) due_ns: u64,
    pub(crate) sequence: u64,
}

/// A request that is due.
pub(crate) struct DueRequest {
    pub(crate) visit: Visit,
    /// Its permit of the concurrency limit.
    pub(crate) permit: Option<Permit>,
    pub(crate) decision: Decision,
}

/// The result of [`pass`].
#[expect(clippy::large_enum_variant, reason = "nearly all requests are answered, and callers take the value apart at once")]
pub(crate) enum Decision {
    /// A limit rejects the request. Above the rate there is room again after this many seconds.
    Rejected {
        status: u16,
        retry_after_s: Option<u64>,
    },
    /// A fault leaves it without an answer. Its visit lasts until its client gives up.
    Silence,
    /// A fault resets it.
    Reset,
    Failed(u16),
    /// With the reply of a function. The request is present if some code reads it.
    Answered(Reply, Option<StubRequest>),
}

/// Passes a request through an endpoint and returns when it is due, or at once if it is never answered. `request` is called if some code
/// reads it.
pub(crate) async fn pass(
    state: &Rc<ServerState>,
    index: usize,
    arrival: ArrivedRequest,
    request: impl FnOnce(Moments) -> StubRequest,
) -> DueRequest {
    let endpoint = &state.endpoints[index];
    let ArrivedRequest { at_ns: arrived_ns, bytes, held } = arrival;
    let sequence = state.recorder.borrow_mut().arrived(index, arrived_ns, bytes);
    let visit = Visit::new(state, index, arrived_ns, held);
    let permit = match admit(endpoint, arrived_ns).await {
        Ok(permit) => permit,
        Err((status, retry_after_s)) => {
            visit.ends(status, CallEnding::Rejected);
            return DueRequest { visit, permit: None, decision: Decision::Rejected { status, retry_after_s } };
        }
    };
    let fault = endpoint.fault(&mut state.random.borrow_mut());
    if fault == Some(Fault::Silence) {
        visit.held.take();
        return DueRequest { visit, permit, decision: Decision::Silence };
    }
    // A wait begins when the request is served: on arrival, or when it receives its permit of the concurrency limit.
    let begin_ns = if permit.is_some() { now_ns() } else { arrived_ns };
    let until_ns = endpoint.wait.borrow_mut().until_ns(begin_ns, state.started_ns, &mut state.random.borrow_mut());
    let request = endpoint.reads_request().then(|| request(Moments { arrived_ns, due_ns: until_ns, sequence }));
    // A function on another thread receives the request on arrival, not when its response is due, and may choose its own wait.
    let reply = match (&endpoint.calls, &request) {
        (Some(calls), Some(request)) if fault.is_none() => endpoint.ask(calls, state.number, index, request.clone()).await,
        _ => Reply::default(),
    };
    let until_ns = reply.delay_ns.map_or(until_ns, |delay_ns| begin_ns.saturating_add(delay_ns));
    visit.held_ns.set(until_ns.saturating_sub(begin_ns));
    state.timer.sleep_until(until_ns).await;
    let decision = match fault {
        Some(Fault::Reset) => {
            visit.is_reset();
            Decision::Reset
        }
        Some(Fault::Status(status)) => {
            visit.ends(status, CallEnding::Faulted);
            Decision::Failed(status)
        }
        Some(Fault::Silence) | None => Decision::Answered(reply, request),
    };
    DueRequest { visit, permit, decision }
}

/// Admits a request past the endpoint's limits and returns its permit of the concurrency limit. If a limit rejects it, returns the status,
/// and the seconds until there is room.
async fn admit(endpoint: &Endpoint, arrived_ns: u64) -> Result<Option<Permit>, (u16, Option<u64>)> {
    if let Some((limit, bucket)) = &endpoint.rate
        && let Err(wait_ns) = bucket.take(arrived_ns)
    {
        let wait_ns = limit.retry_after_ns.unwrap_or(wait_ns);
        return Err((limit.status, Some(wait_ns.div_ceil(1_000_000_000).max(1))));
    }
    match &endpoint.gate {
        None => Ok(None),
        Some((status, gate)) => gate.enter().await.map(Some).map_err(|_| (*status, None)),
    }
}
