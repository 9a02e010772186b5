//! A TCP connection whose bytes the kernel stamps as they arrive, to see how long they lay there until they were read.
//!
//! The stamp is the one of the packet that brought the last byte read (SO_TIMESTAMPNS, socket(7)). It is taken where the packet
//! enters this machine's network stack, also on loopback, and is on CLOCK_REALTIME.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use metrics::clock::wall_ns;
use nix::cmsg_space;
use nix::sys::socket::{AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, setsockopt, socket, sockopt};
use nix::sys::time::{TimeSpec, TimeValLike};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Has the kernel stamp what arrives, for as long as it lives.
///
/// A connection that asks for stamps would do. But the kernel patches its own code when the first socket asks and when the last one goes,
/// which stops all cores for a moment: not with every short-lived connection.
#[derive(Debug)]
pub(crate) struct Stamping {
    _socket: OwnedFd,
}

impl Stamping {
    /// `None` where the kernel does not stamp.
    pub(crate) fn begin() -> Option<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).ok()?;
        Some(Self { _socket: socket })
    }
}

/// A connection that is read with the kernel's stamps.
#[derive(Debug)]
pub(crate) struct Stamped {
    pub(crate) stream: TcpStream,
    control: Box<[u8]>,
    /// How long what was read last had lain there. Nanoseconds.
    lag_ns: Option<u64>,
}

impl Stamped {
    /// # Errors
    /// The connection as it was, where the kernel does not stamp.
    pub(crate) fn new(stream: TcpStream) -> Result<Self, TcpStream> {
        match setsockopt(&stream, sockopt::ReceiveTimestampns, &true) {
            Ok(()) => Ok(Self { stream, control: cmsg_space!(TimeSpec).into_boxed_slice(), lag_ns: None }),
            Err(_) => Err(stream),
        }
    }

    /// How long the last byte of the latest read had lain there; once. `None` for a packet without a stamp, such as one that came
    /// just when stamping had been asked for, and where the clock was set in between.
    pub(crate) fn take_lag_ns(&mut self) -> Option<u64> {
        self.lag_ns.take()
    }
}

impl AsyncRead for Stamped {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, control, lag_ns } = self.get_mut();
        loop {
            ready!(stream.poll_read_ready(context))?;
            let read = stream.try_io(Interest::READABLE, || receive(stream, buffer.initialize_unfilled(), control));
            match read {
                Ok((count, lag)) => {
                    buffer.advance(count);
                    *lag_ns = lag;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Reads once: the count of bytes, and how long the last of them had lain there.
fn receive(stream: &TcpStream, into: &mut [u8], control: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut parts = [IoSliceMut::new(into)];
    let received = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(control), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    });
    let lag = stamp.and_then(|stamp| wall_ns().checked_sub(stamp.num_nanoseconds() as u64));
    Ok((received.bytes, lag))
}
