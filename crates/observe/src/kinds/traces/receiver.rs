//! Receives spans on a separate thread, so that a flood of them does not delay other observers.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as BoundListener};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use loadstone_metrics::clock::{Monotonic, thread_cpu_ns, wall_ns};
use loadstone_metrics::span::TraceBatch;
use prost::bytes::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use super::book::{SpanBook, SpanCounts};
use super::forward::ForwardTarget;
use super::message::{self, AnswerBody, MessageError, OtlpSignal};
use super::proto;

const SETTLE_EVERY: Duration = Duration::from_millis(250);
/// Pause after a failed accept, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::task::spawn_local(converse(stream, Rc::clone(&state)))),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            _ = ticks.tick() => state.book.borrow_mut().settle(state.clock.now()),
            request = asked.recv() => match request {
                Some(request) => state.report(request),
                None => return,
            },
        }
    }
}

/// Serves one connection until either side ends it. Its errors do not affect other connections.
async fn converse(stream: TcpStream, state: Rc<ReceiverState>) {
    // A missing TCP_NODELAY costs time, not correctness.
    let _ = stream.set_nodelay(true);
    let is_http2 = opens_http2(&stream).await;
    let service = service_fn(move |request| respond(Rc::clone(&state), request));
    let io = TokioIo::new(stream);
    if is_http2 {
        let _ = http2::Builder::new(ReceiverExecutor).serve_connection(io, service).await;
    } else {
        let _ = http1::Builder::new().serve_connection(io, service).await;
    }
}

/// gRPC opens with `PRI * HTTP/2.0`; no method of HTTP/1.1 that is answered here begins with these two letters.
async fn opens_http2(stream: &TcpStream) -> bool {
    let mut seen = [0; 2];
    loop {
        match stream.peek(&mut seen).await {
            Ok(2) => return seen == *b"PR",
            Ok(1) if seen[0] == b'P' => tokio::time::sleep(Duration::from_millis(1)).await,
            _ => return false,
        }
    }
}

async fn respond(state: Rc<ReceiverState>, request: Request<Incoming>) -> Result<Response<AnswerBody>, std::convert::Infallible> {
    let is_grpc = message::is_grpc(request.headers());
    let taken = match message::read(request).await {
        Ok((signal, message)) => state.take(signal, message),
        Err(problem) => Err(problem),
    };
    if let Err(problem) = &taken {
        state.refused.set(state.refused.get() + 1);
        state.refusal.replace(Some(problem.clone()));
    }
    Ok(message::answer(is_grpc, &taken))
}

impl ReceiverState {
    fn take(&self, signal: OtlpSignal, message: Bytes) -> Result<(), MessageError> {
        if signal == OtlpSignal::Traces {
            let export = proto::decode(&message).ok_or(MessageError::Unreadable)?;
            self.book.borrow_mut().take(&export, self.clock.now(), wall_ns());
        }
        if let Some(forward) = &self.forward {
            forward.pass_on(signal, message);
        }
        Ok(())
    }

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

#[derive(Clone)]
struct ReceiverExecutor;

impl<F> hyper::rt::Executor<F> for ReceiverExecutor
where
    F: Future + 'static,
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
