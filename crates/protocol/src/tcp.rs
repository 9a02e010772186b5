//! A TCP connection. It measures how late this program noticed that it was established, and how long received bytes were in the kernel.
//!
//! The timestamp of a read is that of the packet with the last byte read (SO_TIMESTAMPNS, socket(7)). It is taken when the packet enters this
//! machine's network stack, also on loopback, and is on CLOCK_REALTIME.

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

use crate::read_budget::ReadBudget;

/// Enables the kernel's timestamps as long as this value exists.
///
/// Timestamps could be enabled per connection. But the kernel patches its own code when the first socket enables them and when the last one closes,
/// which briefly stops all cores. This must not happen with every short-lived connection.
#[derive(Debug)]
pub(crate) struct Stamping {
    _socket: OwnedFd,
}

impl Stamping {
    /// `None` if the kernel does not provide timestamps.
    pub(crate) fn begin() -> Option<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).ok()?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).ok()?;
        Some(Self { _socket: socket })
    }
}

/// A wait in the kernel exceeds its call by no more than this unless the wall clock was set. NTP sets it if it is wrong by more than 128 ms (RFC 5905).
const CLOCK_SET_NS_MIN: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// The kernel has established the connection, but the runtime has not been notified yet: the first write asks the kernel.
    fresh: bool,
    connect_lag_ns: Option<u64>,
    /// The socket option for timestamps has been set.
    timestamps_enabled: bool,
    /// Reads take the timestamp.
    stamped: bool,
    lag_ns: Option<u64>,
    pub(crate) budget: ReadBudget,
}

impl Tcp {
    /// Connects a non-blocking socket, without waiting for an event that the kernel already knows. On loopback the handshake is over when connect(2)
    /// returns, and the event loop may have hundreds of other connections to open before it is notified.
    pub(crate) async fn connect(clock: &Clock, socket: OwnedFd, to: SocketAddr) -> io::Result<Self> {
        let begun = clock.now();
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        // A connected socket has a peer (getpeername(2)).
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
        let budget = ReadBudget::default();
        Ok(Self { stream, peer: to, fresh, connect_lag_ns, timestamps_enabled: false, stamped: false, lag_ns: None, budget })
    }

    /// How much longer the wait for its connect took than the handshake. Returned once. Nanoseconds. `None` if it did not wait, or the kernel has no
    /// measurement.
    pub(crate) fn take_connect_lag_ns(&mut self) -> Option<u64> {
        self.connect_lag_ns.take()
    }

    /// Sets whether reads take the timestamp from now on.
    pub(crate) fn stamp(&mut self, stamped: bool) {
        // Set on demand: at a high rate few responses are stamped, and other connections do not need the option.
        if stamped && !self.timestamps_enabled {
            // Without the option no read has a timestamp. The same happens on machines without timestamps.
            let _ = setsockopt(&self.stream, sockopt::ReceiveTimestampns, &true);
            self.timestamps_enabled = true;
        }
        self.stamped = stamped;
        self.lag_ns = None;
    }

    /// How long the last byte of the latest stamped read had been in the kernel. Returned once. Nanoseconds. `None` for a packet without a timestamp
    /// (one may arrive just when the option is set), and if the clock was set back in between.
    pub(crate) fn take_lag_ns(&mut self) -> Option<u64> {
        self.lag_ns.take()
    }

    /// Bytes written that the peer's machine has not acknowledged (SIOCOUTQ, tcp(7)). Also valid after the connection has ended.
    pub(crate) fn unacknowledged_bytes(&self) -> Option<u64> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open for the length of the call, which writes one c_int.
        let result = unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        if result == 0 { u64::try_from(bytes).ok() } else { None }
    }

    /// Writes the parts one after the other. The count may be short.
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
                        // A short read has emptied the socket, and the next bytes are a new event (epoll(7), edge-triggered). Clearing the readiness
                        // saves a read that would return EAGAIN, like tokio's own reads.
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

/// How long the handshake of a new connection took, as the kernel measured it (`tcpi_rtt`, tcp(7)). Nanoseconds. `None` if a packet was
/// retransmitted, which prevents the measurement.
fn handshake_ns(stream: &TcpStream) -> Option<u64> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open during the call, which writes at most `length` bytes.
    let result =
        unsafe { libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length) };
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let info = unsafe { info.assume_init() };
    (result == 0 && info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0).then(|| u64::from(info.tcpi_rtt) * 1_000)
}

/// Whether bytes of a call can have been in the kernel for `lag_ns` if the call has lasted `call_ns`. A much longer wait shows that the wall clock, which
/// the timestamps are of, has been set.
pub(crate) fn is_possible(lag_ns: u64, call_ns: u64) -> bool {
    lag_ns <= call_ns + CLOCK_SET_NS_MIN
}

/// Room for one control message with a timespec: 32 bytes on 64-bit machines (cmsg(3)).
#[repr(align(8))]
struct ControlBuffer([u8; 64]);

/// Reads once. Returns the number of bytes, and how long the last of them had been in the kernel.
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
