//! Serves connections of exporters, on the thread that calls.

use std::convert::Infallible;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use prost::bytes::Bytes;
use tokio::net::{TcpListener, TcpStream};

use super::message::{self, AnswerBody, MessageError, OtlpSignal};

/// Pause after a failed accept, for example without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Receives the messages of all connections.
pub(crate) trait OtlpMessageSink {
    /// Takes a message. The exporter waits for its end, so a full queue slows exporters down.
    fn take(&self, signal: OtlpSignal, message: Bytes) -> impl Future<Output = Result<(), MessageError>>;

    /// A message was refused.
    fn refused(&self, problem: MessageError);
}

/// Accepts connections until it is dropped. Connections then remain as long as the caller's set of local tasks.
pub(crate) async fn accept<S: OtlpMessageSink + 'static>(listener: TcpListener, sink: Rc<S>) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::task::spawn_local(converse(stream, Rc::clone(&sink)))),
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Serves one connection until either side ends it. Its errors do not affect other connections.
async fn converse<S: OtlpMessageSink + 'static>(stream: TcpStream, sink: Rc<S>) {
    // A missing TCP_NODELAY costs time, not correctness.
    let _ = stream.set_nodelay(true);
    let is_http2 = opens_http2(&stream).await;
    let service = service_fn(move |request| respond(Rc::clone(&sink), request));
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

async fn respond<S: OtlpMessageSink>(sink: Rc<S>, request: Request<Incoming>) -> Result<Response<AnswerBody>, Infallible> {
    let is_grpc = message::is_grpc(request.headers());
    let taken = match message::read(request).await {
        Ok((signal, message)) => sink.take(signal, message).await,
        Err(problem) => Err(problem),
    };
    if let Err(problem) = &taken {
        sink.refused(problem.clone());
    }
    Ok(message::answer(is_grpc, &taken))
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
