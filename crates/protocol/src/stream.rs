//! The bytes under a protocol: a TCP or Unix connection, plain or through TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio_rustls::client::TlsStream;

use crate::tcp::Tcp;

/// A connection as the kernel gives it.
#[derive(Debug)]
pub(crate) enum RawSocket {
    Tcp(Tcp),
    Unix(UnixStream),
}

/// The same, or TLS over it.
#[derive(Debug)]
pub(crate) enum NetworkStream {
    Plain(RawSocket),
    Tls(Box<TlsStream<RawSocket>>),
}

impl RawSocket {
    fn stamp(&mut self, stamped: bool) {
        if let Self::Tcp(tcp) = self {
            tcp.stamp(stamped);
        }
    }

    fn take_connect_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.take_connect_lag_ns(),
            Self::Unix(_) => None,
        }
    }

    fn take_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.take_lag_ns(),
            Self::Unix(_) => None,
        }
    }

    /// Bytes written that the peer's machine has not acknowledged; `None` where the kernel does not say.
    fn unacknowledged_bytes(&self) -> Option<u64> {
        match self {
            Self::Tcp(tcp) => tcp.unacknowledged_bytes(),
            // Nothing is acknowledged on a Unix socket.
            Self::Unix(_) => None,
        }
    }

    /// Reads what the kernel has reported, without waiting.
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => tcp.stream.try_read(into),
            Self::Unix(stream) => stream.try_read(into),
        }
    }
}

impl AsyncRead for RawSocket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(tcp).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for RawSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => tcp.poll_write(context, &[IoSlice::new(bytes)]),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(self: Pin<&mut Self>, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(tcp) => tcp.poll_write(context, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Neither kind holds anything back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(tcp) => Pin::new(&mut tcp.stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl NetworkStream {
    /// Reads what is there. Zero bytes mean that the peer has closed.
    ///
    /// The poll form, unlike `try_read`, forgets readiness after a short read, which saves the system call that would
    /// only answer EAGAIN.
    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        let polled = match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, &mut buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, &mut buffer),
        };
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(Ok(buffer.filled().len())),
            // Many servers close without TLS's farewell; framing decides whether the response was whole.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    }

    /// Whether reads take the kernel's stamp from now on.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        match self {
            Self::Plain(socket) => socket.stamp(stamped),
            Self::Tls(stream) => stream.get_mut().0.stamp(stamped),
        }
    }

    /// By how much longer than the handshake the connect was waited for; once. Nanoseconds.
    pub(crate) fn take_connect_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.take_connect_lag_ns(),
            Self::Tls(stream) => stream.get_mut().0.take_connect_lag_ns(),
        }
    }

    /// How long the last bytes that a stamped read got had lain in the kernel; once. Nanoseconds.
    ///
    /// It says something of this program only where a reader was waiting when they arrived.
    pub(crate) fn take_lag_ns(&mut self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.take_lag_ns(),
            Self::Tls(stream) => stream.get_mut().0.take_lag_ns(),
        }
    }

    /// Bytes written that the peer's machine has not acknowledged, those that TLS adds among them; `None` where the kernel does not say.
    pub(crate) fn unacknowledged_bytes(&self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.unacknowledged_bytes(),
            Self::Tls(stream) => stream.get_ref().0.unacknowledged_bytes(),
        }
    }

    /// Writes the start of `first` followed by `second`; the count may be short.
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

    /// Hands what TLS still holds to the kernel.
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// The protocol that ALPN agreed on, where there was any to agree on.
    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }

    /// True when an idle connection has been closed by the peer, or holds bytes nobody asked for: it cannot be used
    /// again. Costs no system call unless the kernel has reported something.
    pub(crate) fn is_spoilt(&mut self, scratch: &mut [u8]) -> bool {
        match self {
            Self::Plain(stream) => !matches!(stream.try_read(scratch), Err(error) if error.kind() == io::ErrorKind::WouldBlock),
            // Session tickets may lie in wait here; only what they leave over is a sign.
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
