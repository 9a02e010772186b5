//! One client connection: TLS or plain, HTTP/1.1, HTTP/2 or raw bytes, and how it ends.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::serve::serve;
use crate::tcp;
use crate::visit::ServerState;

/// Serves the connection until either side ends it. Problems of one connection do not affect others, so they are not returned.
pub(crate) async fn converse(stream: TcpStream, tls: Option<TlsAcceptor>, state: Rc<ServerState>, mut stop: watch::Receiver<bool>) {
    // A missing TCP_NODELAY costs time, not correctness.
    let _ = stream.set_nodelay(true);
    let reset = Rc::new(Cell::new(false));
    let socket = StubSocket { tcp: stream, reset: Rc::clone(&reset) };
    match tls {
        None if state.tcp.is_some() => speak(socket, false, state, reset, stop).await,
        None => {
            let http2 = tokio::select! {
                http2 = opens_http2(&socket.tcp) => http2,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            speak(socket, http2, state, reset, stop).await;
        }
        Some(acceptor) => {
            let accepted = tokio::select! {
                accepted = acceptor.accept(socket) => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let Ok(stream) = accepted else { return };
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            speak(stream, http2, state, reset, stop).await;
        }
    }
}

/// HTTP/2 with prior knowledge opens with `PRI * HTTP/2.0`; no HTTP/1.1 method starts that way.
async fn opens_http2(tcp: &TcpStream) -> bool {
    const OPENING: &[u8] = b"PRI ";
    let mut seen = [0; OPENING.len()];
    loop {
        match tcp.peek(&mut seen).await {
            Ok(count) if count == OPENING.len() => return seen == OPENING,
            Ok(count) if count > 0 && OPENING.starts_with(&seen[..count]) => tokio::time::sleep(Duration::from_millis(1)).await,
            _ => return false,
        }
    }
}

async fn speak<S>(stream: S, http2: bool, state: Rc<ServerState>, reset: Rc<Cell<bool>>, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    if let Some(talk) = &state.tcp {
        return tokio::select! {
            () = tcp::talk(stream, talk, &state, &reset) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        };
    }
    let streams_max = state.streams_max;
    let service = service_fn(move |request| serve(Rc::clone(&state), request, Rc::clone(&reset)));
    let io = TokioIo::new(stream);
    if http2 {
        let mut builder = http2::Builder::new(LocalExecutor);
        builder.max_concurrent_streams(streams_max);
        let mut connection = std::pin::pin!(builder.serve_connection(io, service));
        tokio::select! {
            _ = connection.as_mut() => {}
            _ = stop.wait_for(|stop| *stop) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    } else {
        let mut connection = std::pin::pin!(http1::Builder::new().serve_connection(io, service));
        tokio::select! {
            _ = connection.as_mut() => {}
            _ = stop.wait_for(|stop| *stop) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

#[derive(Clone)]
struct LocalExecutor;

impl<F> hyper::rt::Executor<F> for LocalExecutor
where
    F: Future + 'static,
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// A TCP stream that closes with RST instead of FIN once `reset` is set.
struct StubSocket {
    tcp: TcpStream,
    reset: Rc<Cell<bool>>,
}

impl Drop for StubSocket {
    fn drop(&mut self) {
        if self.reset.get() {
            // With a linger of zero the kernel discards unsent data and resets the connection.
            let _ = self.tcp.set_zero_linger();
        }
    }
}

impl AsyncRead for StubSocket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl AsyncWrite for StubSocket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.reset.get() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
