//! A TCP connection. It measures how late this program noticed that it was established, and how long received bytes were in the kernel.
//!
//! The kernel's part is in [`loadstone_platform::tcp`]. macOS has no timestamps of TCP data.
//!
//! A connection that serves one request makes few system calls: it is registered for reads alone, since a new socket is ready for writes, which the
//! event loop would report at once. A write is tried before its readiness is known.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use loadstone_metrics::clock::Clock;
use loadstone_platform::tcp;
use nix::sys::socket::{SockaddrStorage, getpeername};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, Shutdown};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

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
        Some(Self { _socket: tcp::timestamping_socket().ok()? })
    }
}

/// A wait in the kernel exceeds its call by no more than this unless the wall clock was set. NTP sets it if it is wrong by more than 128 ms (RFC 5905).
const CLOCK_SET_NS_MIN: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Tcp {
    /// Registered for reads.
    socket: AsyncFd<OwnedFd>,
    /// The same socket, registered for writes: while the kernel's send buffer is full.
    full: Option<AsyncFd<OwnedFd>>,
    pub(crate) peer: SocketAddr,
    writes: Writes,
    connect_lag_ns: Option<u64>,
    /// The socket option for timestamps has been set.
    timestamps_enabled: bool,
    /// Reads take the timestamp.
    stamped: bool,
    lag_ns: Option<u64>,
    pub(crate) budget: ReadBudget,
}

/// How much was written, as far as Nagle's algorithm matters. It holds back a small segment until an earlier small one is acknowledged (RFC 1122,
/// section 4.2.3.4), so it cannot delay the first write of a connection. TCP_NODELAY is set before the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    None,
    One,
    /// The option is set.
    Undelayed,
}

impl Tcp {
    /// Connects a non-blocking socket, without waiting for an event that the kernel already knows. On loopback the handshake is over when connect(2)
    /// returns, and the event loop may have hundreds of other connections to open before it is notified.
    pub(crate) async fn connect(clock: &Clock, socket: OwnedFd, to: SocketAddr) -> io::Result<Self> {
        let begun = clock.now();
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        // A connected socket has a peer (getpeername(2)).
        let is_established = getpeername::<SockaddrStorage>(socket.as_raw_fd()).is_ok();
        let interest = if is_established { Interest::READABLE } else { Interest::READABLE | Interest::WRITABLE };
        let socket = register(socket, interest)?;
        let mut connect_lag_ns = None;
        if !is_established {
            drop(socket.writable().await?);
            rustix::net::sockopt::socket_error(&socket)??;
            connect_lag_ns = tcp::handshake_ns(&socket).map(|handshake_ns| (clock.now() - begun).saturating_sub(handshake_ns));
        }
        Ok(Self {
            socket,
            full: None,
            peer: to,
            writes: Writes::None,
            connect_lag_ns,
            timestamps_enabled: false,
            stamped: false,
            lag_ns: None,
            budget: ReadBudget::default(),
        })
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
            let _ = tcp::enable_timestamps(&self.socket);
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

    /// Bytes written that the peer's machine has not acknowledged. Also valid after the connection has ended.
    pub(crate) fn unacknowledged_bytes(&self) -> Option<u64> {
        tcp::unacknowledged_bytes(&self.socket)
    }

    /// Writes the parts one after the other. The count may be short.
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self.writes {
            Writes::None => self.writes = Writes::One,
            Writes::One => {
                rustix::net::sockopt::set_tcp_nodelay(&self.socket, true)?;
                self.writes = Writes::Undelayed;
            }
            Writes::Undelayed => {}
        }
        loop {
            let sent = match parts {
                [only] => rustix::net::send(&self.socket, only, tcp::SEND),
                _ => rustix::net::sendmsg(&self.socket, parts, &mut SendAncillaryBuffer::default(), tcp::SEND),
            };
            match sent {
                Ok(count) => {
                    // The second descriptor is not kept for the next request.
                    if self.full.is_some() && count == parts.iter().map(|part| part.len()).sum::<usize>() {
                        self.full = None;
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::AGAIN) => ready!(self.poll_room(context))?,
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Ready when the send buffer may have room again. A second descriptor of the socket is registered for that, so that tasks that wait for its reads
    /// remain registered.
    #[cold]
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let full = match &mut self.full {
            Some(full) => full,
            none => none.insert(register(self.socket.as_fd().try_clone_to_owned()?, Interest::WRITABLE)?),
        };
        ready!(full.poll_write_ready(context))?.clear_ready();
        Poll::Ready(Ok(()))
    }

    /// Ends this side of the connection.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.socket, Shutdown::Write)?)
    }

    /// Reads the bytes that the kernel has reported, without waiting. Makes no system call unless it has reported some.
    pub(crate) fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.try_io(Interest::READABLE, |socket| Ok(rustix::net::recv(socket, into, RecvFlags::empty())?.0))
    }

    fn poll_read_with(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        mut read: impl FnMut(&OwnedFd, &mut ReadBuf<'_>) -> Result<usize, Errno>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        loop {
            let mut readable = ready!(self.socket.poll_read_ready(context))?;
            match read(readable.get_inner(), buffer) {
                Ok(count) => {
                    // A short read has emptied the socket, and the next bytes are a new event (epoll(7), edge-triggered; EV_CLEAR of kevent(2)).
                    // Clearing the readiness saves a read that would return EAGAIN.
                    if (1..room).contains(&count) {
                        readable.clear_ready();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::AGAIN) => readable.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncRead for Tcp {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let tcp = self.get_mut();
        if !tcp.stamped {
            return tcp.poll_read_with(context, buffer, read);
        }
        let mut lag_ns = None;
        let polled = tcp.poll_read_with(context, buffer, |socket, buffer| {
            let count;
            (count, lag_ns) = read_stamped(socket, buffer)?;
            Ok(count)
        });
        if polled.is_ready() {
            tcp.lag_ns = lag_ns;
        }
        polled
    }
}

/// Registers a descriptor with the event loop of the running runtime.
fn register(socket: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the AsyncFd owns the descriptor from here on, and nothing else closes it.
    Ok(unsafe { AsyncFd::register_with_interest(socket, interest)? })
}

/// Whether bytes of a call can have been in the kernel for `lag_ns` if the call has lasted `call_ns`. A much longer wait shows that the wall clock, which
/// the timestamps are of, has been set.
pub(crate) fn is_possible(lag_ns: u64, call_ns: u64) -> bool {
    lag_ns <= call_ns + CLOCK_SET_NS_MIN
}

/// Reads once. Returns the number of bytes.
fn read(socket: &OwnedFd, into: &mut ReadBuf<'_>) -> Result<usize, Errno> {
    // SAFETY: recv(2) only writes to the buffer, and what was initialised remains so.
    let ((filled, _), count) = rustix::net::recv(socket, unsafe { into.unfilled_mut() }, RecvFlags::empty())?;
    debug_assert_eq!(filled.len(), count);
    // SAFETY: the kernel has written this many bytes.
    unsafe { into.assume_init(count) };
    into.advance(count);
    Ok(count)
}

/// Reads once. Returns the number of bytes, and how long the last of them had been in the kernel.
fn read_stamped(socket: &OwnedFd, into: &mut ReadBuf<'_>) -> Result<(usize, Option<u64>), Errno> {
    let received = tcp::receive_stamped(socket, into.initialize_unfilled());
    let (count, lag_ns) = received.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    into.advance(count);
    Ok((count, lag_ns))
}
