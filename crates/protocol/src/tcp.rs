//! A TCP connection, whose reads can tell how long the bytes lay in the kernel until they were read.
//!
//! The stamp is the one of the packet that brought the last byte read (SO_TIMESTAMPNS, socket(7)). It is taken where the packet
//! enters this machine's network stack, also on loopback, and is on CLOCK_REALTIME.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use metrics::clock::wall_ns;
use nix::sys::socket::{AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, setsockopt, socket, sockopt};
use nix::sys::time::TimeValLike;
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

#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) stream: TcpStream,
    /// The kernel was told to hand stamps over.
    asked: bool,
    /// Reads take the stamp.
    stamped: bool,
    lag_ns: Option<u64>,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, asked: false, stamped: false, lag_ns: None }
    }

    /// Whether reads take the stamp from now on.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        // Only then: at a high rate few responses are stamped, and a connection that serves one of them need not ask.
        if stamped && !self.asked {
            // Without the option no read has a stamp, which is what becomes of it anyhow where there are none.
            let _ = setsockopt(&self.stream, sockopt::ReceiveTimestampns, &true);
            self.asked = true;
        }
        self.stamped = stamped;
        self.lag_ns = None;
    }

    /// How long the last byte of the latest stamped read had lain there; once. Nanoseconds. `None` for a packet without a stamp, such as one
    /// that came just when stamping had been asked for, and where the clock was set back in between.
    pub(crate) fn take_lag_ns(&mut self) -> Option<u64> {
        self.lag_ns.take()
    }

    /// Bytes written that the peer's machine has not acknowledged (SIOCOUTQ, tcp(7)). It holds also once the connection has ended.
    pub(crate) fn unacknowledged_bytes(&self) -> Option<u64> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open for the length of the call, which writes one c_int.
        let result = unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        if result == 0 { u64::try_from(bytes).ok() } else { None }
    }

    fn poll_read_stamped(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_io(Interest::READABLE, || receive(&self.stream, buffer.initialize_unfilled())) {
                Ok((count, lag_ns)) => {
                    buffer.advance(count);
                    self.lag_ns = lag_ns;
                    if (1..room).contains(&count) {
                        // A short read has emptied the socket; the next bytes are a new event (epoll(7), edge-triggered). To say so saves the
                        // read that would answer EAGAIN, as tokio's own reads do.
                        let _ = self.stream.try_io(Interest::READABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let tcp = self.get_mut();
        if tcp.stamped { tcp.poll_read_stamped(context, buffer) } else { Pin::new(&mut tcp.stream).poll_read(context, buffer) }
    }
}

/// Room for one control message with a timespec: 32 bytes on 64-bit machines (cmsg(3)).
#[repr(align(8))]
struct ControlBuffer([u8; 64]);

/// Reads once: the count of bytes, and how long the last of them had lain there.
fn receive(stream: &TcpStream, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = ControlBuffer([0; 64]);
    let mut parts = [IoSliceMut::new(into)];
    let received = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut control.0), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.num_nanoseconds() as u64),
        _ => None,
    });
    Ok((received.bytes, stamp.and_then(|stamp| wall_ns().checked_sub(stamp))))
}
