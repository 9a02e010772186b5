//! The byte stream of a protocol: a TCP or Unix connection, plain or with TLS.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio_rustls::client::TlsStream;

use crate::read_budget::ReadBudget;
use crate::tcp::Tcp;

/// A connection as the kernel provides it.
#[derive(Debug)]
pub(crate) enum RawSocket {
    Tcp(Tcp),
    Unix(UnixStream, ReadBudget),
}

/// A raw connection, or TLS over it.
#[derive(Debug)]
pub(crate) enum NetworkStream {
    Plain(RawSocket),
    Tls(Box<TlsStream<RawSocket>>),
}

impl RawSocket {
    pub(crate) fn unix(stream: UnixStream) -> Self {
        Self::Unix(stream, ReadBudget::default())
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(tcp) => Some(tcp.peer),
            Self::Unix(..) => None,
        }
    }

    fn budget(&mut self) -> &mut ReadBudget {
        match self {
            Self::Tcp(tcp) => &mut tcp.budget,
            Self::Unix(_, budget) => budget,
        }
    }

    fn stamp(&mut self, stamped: bool) {
        if let Self::Tcp(tcp) = self {
            tcp.stamp(stamped);
        }
    }

    fn take_connect_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.take_connect_lag_ns(),
            Self::Unix(..) => None,
        }
    }

    fn take_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.take_lag_ns(),
            Self::Unix(..) => None,
        }
    }

    /// Bytes written that the peer's machine has not acknowledged. `None` if the kernel does not report it.
    fn unacknowledged_bytes(&self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.unacknowledged_bytes(),
            // A Unix socket has no acknowledgements.
            Self::Unix(..) => None,
        }
    }

    /// Reads the bytes that the kernel has reported, without waiting.
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.try_read(into),
            Self::Unix(stream, _) => stream.try_read(into),
        }
    }
}

impl AsyncRead for RawSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = self.get_mut();
        if socket.budget().is_spent(context) {
            return Poll::Pending;
        }
        let polled = match socket {
            Self::Tcp(tcp) => Pin::new(tcp).poll_read(context, buffer),
            Self::Unix(stream, _) => Pin::new(stream).poll_read(context, buffer),
        };
        if polled.is_pending() {
            socket.budget().renew();
        }
        polled
    }
}

impl AsyncWrite for RawSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => tcp.poll_write(context, &[IoSlice::new(bytes)]),
            Self::Unix(stream, _) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => tcp.poll_write(context, slices),
            Self::Unix(stream, _) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither kind buffers data.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Poll::Ready(tcp.shut_down()),
            Self::Unix(stream, _) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl NetworkStream {
    /// Reads the available bytes. Zero bytes mean that the peer has closed.
    ///
    /// Unlike `try_read`, the poll form clears readiness after a short read, which saves a system call that would only return EAGAIN.
    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        let polled = match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, &mut buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, &mut buffer),
        };
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Ok(buffer.filled().len())),
            // Many servers close without TLS's close_notify. The framing decides whether the response was complete.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }

    /// Sets whether reads take the kernel's timestamp from now on.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        match self {
            Self::Plain(socket) => socket.stamp(stamped),
            Self::Tls(stream) => stream.get_mut().0.stamp(stamped),
        }
    }

    /// How much longer the wait for the connection took than the handshake. Returned once. Nanoseconds.
    pub(crate) fn take_connect_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.take_connect_lag_ns(),
            Self::Tls(stream) => stream.get_mut().0.take_connect_lag_ns(),
        }
    }

    /// How long the last bytes of a stamped read had been in the kernel. Returned once. Nanoseconds.
    ///
    /// It describes a delay of this program only if a reader was waiting when they arrived.
    pub(crate) fn take_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.take_lag_ns(),
            Self::Tls(stream) => stream.get_mut().0.take_lag_ns(),
        }
    }

    /// Bytes written that the peer's machine has not acknowledged, including those that TLS adds. `None` if the kernel does not report it.
    pub(crate) fn unacknowledged_bytes(&self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.unacknowledged_bytes(),
            Self::Tls(stream) => stream.get_ref().0.unacknowledged_bytes(),
        }
    }

    /// Writes the start of `first` followed by `second`. The count may be short.
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, first: &[u8], second: &[u8]) -> Poll<io::Result<usize>> {
        if first.is_empty() || second.is_empty() {
            let bytes = if first.is_empty() { second } else { first };
            return match self {
                Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
                Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            };
        }
        let slices = [IoSlice::new(first), IoSlice::new(second)];
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, &slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, &slices),
        }
    }

    /// Passes buffered TLS data to the kernel.
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// The protocol that ALPN negotiated, if any.
    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }

    /// Whether the peer has closed an idle connection, or has sent unexpected bytes, so that it cannot be used again. Costs no system call unless the
    /// kernel has reported an event.
    pub(crate) fn is_unusable(&mut self, scratch: &mut [u8]) -> bool {
        match self {
            Self::Plain(stream) => !matches!(stream.try_read(scratch), Err(error) if error.kind() == io::ErrorKind::WouldBlock),
            // TLS session tickets may be pending here. Only application data spoils the connection.
            Self::Tls(_) => self.poll_read(&mut Context::from_waker(Waker::noop()), scratch).is_ready(),
        }
    }
}

impl AsyncRead for NetworkStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for NetworkStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Self::poll_write(self.get_mut(), context, bytes, &[])
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_flush(self.get_mut(), context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
