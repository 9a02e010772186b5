//! A connection to a server that may send only a limited number of bytes per reading.
//!
//! Client libraries allocate what a server announces, and collect an answer until it is complete. A hostile server could thus fill the memory of
//! the machine that runs the test.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// Bytes of one reading. The answers of real servers take a few KB, and a library needs up to 14 times the bytes of an answer.
const READING_BYTES_MAX: usize = 8 << 20;

/// The bytes that a server may still send in this reading.
#[derive(Debug, Clone)]
pub(crate) struct Allowance(Arc<AtomicUsize>);

impl Default for Allowance {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(READING_BYTES_MAX)))
    }
}

impl Allowance {
    /// A new reading begins.
    pub(crate) fn renew(&self) {
        self.0.store(READING_BYTES_MAX, Ordering::Relaxed);
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed).checked_sub(bytes) {
            Some(left) => {
                self.0.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(io::Error::other("the server sent more than 8 MiB for one reading")),
        }
    }
}

/// A stream whose reads are limited.
#[derive(Debug)]
pub(crate) struct LimitedStream<S> {
    stream: S,
    allowance: Allowance,
}

impl<S> LimitedStream<S> {
    pub(crate) fn new(stream: S, allowance: &Allowance) -> Self {
        Self { stream, allowance: allowance.clone() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                // A read that fails must not have filled anything.
                let spent = self.allowance.spend(buffer.filled().len() - before);
                Poll::Ready(spent.inspect_err(|_| buffer.set_filled(before)))
            }
            other => other,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection of either kind.
pub(crate) trait ServerStream: AsyncRead + AsyncWrite + Unpin + Send {}
impl ServerStream for TcpStream {}
impl ServerStream for UnixStream {}

pub(crate) type LimitedConnection = LimitedStream<Box<dyn ServerStream>>;

/// Connects over TCP.
pub(crate) async fn tcp(host: &str, port: u16, allowance: &Allowance) -> io::Result<LimitedConnection> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(LimitedStream::new(Box::new(stream), allowance))
}

/// Connects to a Unix socket.
pub(crate) async fn unix(path: &std::path::Path, allowance: &Allowance) -> io::Result<LimitedConnection> {
    Ok(LimitedStream::new(Box::new(UnixStream::connect(path).await?), allowance))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_reading_ends_when_the_server_sends_too_much() {
        let allowance = Allowance::default();
        let mut stream = LimitedStream::new(tokio::io::repeat(b'x'), &allowance);
        let mut read = Vec::new();
        let error = stream.read_to_end(&mut read).await.unwrap_err();
        assert_eq!(error.to_string(), "the server sent more than 8 MiB for one reading");
        assert!(read.len() <= READING_BYTES_MAX + (64 << 10), "{}", read.len());
        allowance.renew();
        assert!(stream.read_exact(&mut [0; 1024]).await.is_ok());
    }
}
