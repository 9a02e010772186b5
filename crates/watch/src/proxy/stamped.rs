//! A TCP stream that measures how long the bytes it returns had been in the kernel: the wait of a proxy that is busy elsewhere.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use loadstone_platform::tcp;
use rustix::net::Shutdown;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Time for the peer's machine to confirm what was sent: [`DELIVERY_LOOKS`] pauses.
const DELIVERY_PAUSE: Duration = Duration::from_millis(10);
const DELIVERY_LOOKS: u32 = 100;

/// The socket, for those who read and write it through layers such as TLS.
pub(super) struct StampedSocket {
    stream: TcpStream,
    wait: Cell<Option<u64>>,
}

impl StampedSocket {
    /// How long the bytes of the last read had been in the kernel. Nanoseconds. `None`: the kernel has no timestamp.
    pub(super) fn take_wait(&self) -> Option<u64> {
        self.wait.take()
    }

    /// Whether the peer takes what was sent to it. One whose program has closed the connection resets it, and one that has only ended its own side
    /// acknowledges the data (RFC 9293, 3.6.1). A peer that does neither within a second counts as one that takes it.
    pub(super) async fn is_delivered(&self) -> bool {
        for _ in 0..DELIVERY_LOOKS {
            if !matches!(self.stream.take_error(), Ok(None)) {
                return false;
            }
            if tcp::unacknowledged_bytes(&self.stream).unwrap_or(0) == 0 {
                return true;
            }
            tokio::time::sleep(DELIVERY_PAUSE).await;
        }
        true
    }
}

pub(super) struct StampedTcp(Rc<StampedSocket>);

impl StampedTcp {
    pub(super) fn new(stream: TcpStream) -> (Self, Rc<StampedSocket>) {
        // Without it, the proxy would wait for acknowledgements.
        let _ = stream.set_nodelay(true);
        // Without it, no read has a timestamp, and waits count as short.
        let _ = tcp::enable_timestamps(&stream);
        let socket = Rc::new(StampedSocket { stream, wait: Cell::new(None) });
        (Self(Rc::clone(&socket)), socket)
    }

    /// Closing sends RST, so that the peer sees an end that is not the planned one.
    pub(super) fn resets_at_end(&self) {
        let _ = self.0.stream.set_zero_linger();
    }
}

impl AsyncRead for StampedTcp {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let StampedSocket { stream, wait } = &*self.0;
        let room = buffer.remaining();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_io(Interest::READABLE, || tcp::receive_stamped(stream, buffer.initialize_unfilled())) {
                Ok((count, waited)) => {
                    buffer.advance(count);
                    wait.set(waited);
                    if (1..room).contains(&count) {
                        // A short read has emptied the socket (epoll(7)). Clearing the readiness saves a read that would return EAGAIN.
                        let _ = stream.try_io(Interest::READABLE, || Err::<(), _>(ErrorKind::WouldBlock.into()));
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for StampedTcp {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(context))?;
            match self.0.stream.try_write(bytes) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(rustix::net::shutdown(&self.0.stream, Shutdown::Write).map_err(io::Error::from))
    }
}
