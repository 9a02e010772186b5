//! A TCP connection, which can tell how late this program was to see that it was made, and how long the bytes it reads lay in the kernel.
//!
//! The stamp of a read is the one of the packet that brought the last byte read (SO_TIMESTAMPNS, socket(7)). It is taken where the packet
//! enters this machine's network stack, also on loopback, and is on CLOCK_REALTIME.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use loadstone_metrics::clock::{Clock, wall_ns};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, connect, getpeername, recvmsg, sendmsg, setsockopt,
    socket, sockopt,
};
use nix::sys::time::TimeValLike;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
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
    /// The kernel has made the connection, and the runtime has not heard of it yet: the first write asks the kernel.
    fresh: bool,
    connect_lag_ns: Option<u64>,
    /// The kernel was told to hand stamps over.
    asked: bool,
    /// Reads take the stamp.
    stamped: bool,
    lag_ns: Option<u64>,
}

impl Tcp {
    /// Connects a socket that does not block. What the kernel says at once is not waited for: on loopback the handshake is over when connect(2) returns,
    /// and the event loop may have hundreds of other connections to open before it would hear of it.
    pub(crate) async fn connect(clock: &Clock, socket: OwnedFd, to: SocketAddr) -> io::Result<Self> {
        let begun = clock.now();
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        // It has a peer as soon as it is connected (getpeername(2)).
        let fresh = getpeername::<SockaddrStorage>(socket.as_raw_fd()).is_ok();
        let stream = TcpStream::from_std(socket.into())?;
        let mut connect_lag_ns = None;
        if !fresh {
            stream.writable().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            connect_lag_ns = handshake_ns(&stream).map(|handshake_ns| (clock.now() - begun).saturating_sub(handshake_ns));
        }
        Ok(Self { stream, fresh, connect_lag_ns, asked: false, stamped: false, lag_ns: None })
    }

    /// By how much longer than the handshake its connect was waited for; once. Nanoseconds. `None` where it was not, or the kernel has no time of it.
    pub(crate) fn take_connect_lag_ns(&mut self) -> Option<u64> {
        self.connect_lag_ns.take()
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

    /// Writes the parts one after the other; the count may be short.
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if std::mem::take(&mut self.fresh) {
            match sendmsg::<()>(self.stream.as_raw_fd(), parts, &[], MsgFlags::MSG_NOSIGNAL, None) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        match parts {
            [only] => Pin::new(&mut self.stream).poll_write(context, only),
            _ => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
        }
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

/// How long the handshake of a connection that has just been made took, by the kernel's own measure (`tcpi_rtt`, tcp(7)). Nanoseconds; `None` where a
/// packet was sent again, which leaves nothing to measure by.
fn handshake_ns(stream: &TcpStream) -> Option<u64> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open for the length of the call, which writes no more than the length says.
    let result =
        unsafe { libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length) };
    // SAFETY: it is made of plain numbers, for which zeros are a value, too.
    let info = unsafe { info.assume_init() };
    (result == 0 && info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0).then(|| u64::from(info.tcpi_rtt) * 1_000)
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
