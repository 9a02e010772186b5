//! SO_NWRITE and SO_NOSIGPIPE (setsockopt(2)). The kernel stamps datagrams only: SO_TIMESTAMP has no effect on TCP (`ip_savecontrol` in xnu's
//! bsd/netinet/ip_input.c is the only place that adds the control message). Its measurement of a handshake has a resolution of 1 ms (`tcpi_rttcur`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{RecvFlags, SendFlags};

/// [`stream_socket`] sets the same as an option of the socket.
pub(super) const SEND: SendFlags = SendFlags::empty();

pub(super) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = socket(family, SockType::Stream, SockFlag::empty(), SockProtocol::Tcp)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

pub(super) fn choose_port_late(_: BorrowedFd<'_>) -> io::Result<()> {
    Ok(())
}

pub(super) fn timestamping_socket() -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn enable_timestamps(_: BorrowedFd<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn receive_stamped(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    Ok((rustix::net::recv(socket.as_fd(), into, RecvFlags::empty())?.0, None))
}

/// The send buffer holds bytes until they are acknowledged (`so_snd.sb_cc`).
pub(super) fn unacknowledged_bytes(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut bytes: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open for the length of the call, which writes one c_int.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NWRITE, (&raw mut bytes).cast(), &raw mut length) };
    if result == 0 { u64::try_from(bytes).ok() } else { None }
}

pub(super) fn handshake_ns(_: BorrowedFd<'_>) -> Option<u64> {
    None
}
