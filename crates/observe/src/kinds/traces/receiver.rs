//! Receives spans on a separate thread, so that a flood of them does not delay other observers.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener as BoundListener};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use loadstone_metrics::clock::{Monotonic, thread_cpu_ns, wall_ns};
use loadstone_metrics::span::TraceBatch;
use prost::bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use super::book::{SpanBook, SpanCounts};
use super::forward::ForwardTarget;
use super::proto;
use crate::otlp::{MessageError, OtlpMessageSink, OtlpSignal, accept};

const SETTLE_EVERY: Duration = Duration::from_millis(250);

/// A request to the receiver.
pub(super) struct ReportRequest {
    /// On the run's clock.
    pub(super) run_ns: u64,
    /// Incomplete traces are reported, too.
    pub(super) is_last: bool,
    pub(super) reply: oneshot::Sender<ReceiverReport>,
}

/// Results since the last report, and total counts.
#[derive(Debug, Default)]
pub(super) struct ReceiverReport {
    pub(super) batch: TraceBatch,
    pub(super) counts: SpanCounts,
    /// CPU time of the receiver's thread. Nanoseconds.
    pub(super) cpu_ns: u64,
    /// Number of refused messages, and the reason of the last refusal.
    pub(super) refused: u64,
    pub(super) refusal: Option<MessageError>,
    /// Number of messages that could not be forwarded, and the reason of the last one.
    pub(super) not_forwarded: u64,
    pub(super) forward_problem: Option<String>,
}

/// A running receiver. Dropping it closes the port.
pub(super) struct SpanReceiver {
    requests: Option<mpsc::Sender<ReportRequest>>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by all connections.
struct ReceiverState {
    book: RefCell<SpanBook>,
    clock: Monotonic,
    forward: Option<Rc<ForwardTarget>>,
    /// The batch of a report whose requester had gone.
    undelivered: RefCell<TraceBatch>,
    refused: Cell<u64>,
    refusal: RefCell<Option<MessageError>>,
}

impl SpanReceiver {
    /// # Errors
    /// When the address is in use, or no thread can be created.
    pub(super) fn start(listen: SocketAddr, run: u32, zero_wall: u64, forward: Option<ForwardTarget>) -> io::Result<Self> {
        let bound = BoundListener::bind(listen)?;
        bound.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (requests, asked) = mpsc::channel(4);
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(move || {
            let state = ReceiverState {
                book: RefCell::new(SpanBook::new(run, zero_wall)),
                clock: Monotonic::start(),
                forward: forward.map(Rc::new),
                undelivered: RefCell::new(TraceBatch::default()),
                refused: Cell::new(0),
                refusal: RefCell::new(None),
            };
            LocalSet::new().block_on(&runtime, serve(bound, Rc::new(state), asked));
        })?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// The results since the last call. The receiver ends only with this handle, so there is always a report.
    pub(super) async fn report(&self, run_ns: u64, is_last: bool) -> ReceiverReport {
        let (reply, answered) = oneshot::channel();
        match &self.requests {
            Some(requests) if requests.send(ReportRequest { run_ns, is_last, reply }).await.is_ok() => answered.await.unwrap_or_default(),
            _ => ReceiverReport::default(),
        }
    }
}

impl Drop for SpanReceiver {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Until the handle is dropped.
async fn serve(bound: BoundListener, state: Rc<ReceiverState>, mut asked: mpsc::Receiver<ReportRequest>) {
    let Ok(listener) = TcpListener::from_std(bound) else { return };
    let mut ticks = tokio::time::interval(SETTLE_EVERY);
    let mut accepting = std::pin::pin!(accept(listener, Rc::clone(&state)));
    loop {
        tokio::select! {
            never = &mut accepting => match never {},
            _ = ticks.tick() => state.book.borrow_mut().settle(state.clock.now()),
            request = asked.recv() => match request {
                Some(request) => state.report(request),
                None => return,
            },
        }
    }
}

impl OtlpMessageSink for ReceiverState {
    async fn take(&self, signal: OtlpSignal, message: Bytes) -> Result<(), MessageError> {
        if signal == OtlpSignal::Traces {
            let export = proto::decode(&message).ok_or(MessageError::Unreadable)?;
            self.book.borrow_mut().take(&export, self.clock.now(), wall_ns());
        }
        if let Some(forward) = &self.forward {
            forward.pass_on(signal, message);
        }
        Ok(())
    }

    fn refused(&self, problem: MessageError) {
        self.refused.set(self.refused.get() + 1);
        self.refusal.replace(Some(problem));
    }
}

impl ReceiverState {
    fn report(&self, request: ReportRequest) {
        let mut book = self.book.borrow_mut();
        let mut batch = self.undelivered.take();
        batch.append(if request.is_last { book.last_batch() } else { book.batch(request.run_ns) });
        let report = ReceiverReport {
            batch,
            counts: book.take_counts(),
            cpu_ns: thread_cpu_ns(),
            refused: self.refused.get(),
            refusal: self.refusal.take(),
            not_forwarded: self.forward.as_ref().map_or(0, |forward| forward.lost_so_far()),
            forward_problem: self.forward.as_ref().and_then(|forward| forward.take_problem()),
        };
        if let Err(report) = request.reply.send(report) {
            self.undelivered.replace(report.batch);
        }
    }
}
