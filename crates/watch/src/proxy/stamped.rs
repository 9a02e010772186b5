//! A TCP stream that measures how long the bytes it returns had been in the kernel (SO_TIMESTAMPNS, socket(7)): the wait of a proxy that is busy elsewhere.

use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use loadstone_metrics::clock::wall_ns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// The wait of the last read, for those who read through layers such as TLS. Nanoseconds. `None`: the kernel has no timestamp.
pub(super) type ReadWait = Rc<Cell<Option<u64>>>;

pub(super) struct StampedTcp {
    stream: TcpStream,
    wait: ReadWait,
}

impl StampedTcp {
    pub(super) fn new(stream: TcpStream) -> (Self, ReadWait) {
        // Without it, the proxy would wait for acknowledgements.
        let _ = stream.set_nodelay(true);
        // Without it, no read has a timestamp, and waits count as short.
        let _ = setsockopt(&stream, sockopt::ReceiveTimestampns, &true);
        let wait = ReadWait::default();
        (Self { stream, wait: Rc::clone(&wait) }, wait)
    }

    /// Closing sends RST, so that the peer sees an end that is not the planned one.
    pub(super) fn resets_at_end(&self) {
        let _ = self.stream.set_zero_linger();
    }
}

/// Reads once. Returns the number of bytes, and how long the last of them had been in the kernel.
fn receive(stream: &TcpStream, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    // Room for one control message with a timespec: 32 bytes on 64-bit machines (cmsg(3)).
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(into)];
    let received = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.num_nanoseconds() as u64),
        _ => None,
    });
    Ok((received.bytes, stamp.and_then(|stamp| wall_ns().checked_sub(stamp))))
}

impl AsyncRead for StampedTcp {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let tcp = self.get_mut();
        let room = buffer.remaining();
        loop {
            ready!(tcp.stream.poll_read_ready(context))?;
            match tcp.stream.try_io(Interest::READABLE, || receive(&tcp.stream, buffer.initialize_unfilled())) {
                Ok((count, wait)) => {
                    buffer.advance(count);
                    tcp.wait.set(wait);
                    if (1..room).contains(&count) {
                        // A short read has emptied the socket (epoll(7)). Clearing the readiness saves a read that would return EAGAIN.
                        let _ = tcp.stream.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for StampedTcp {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
