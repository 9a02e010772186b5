//! SO_TIMESTAMPNS (socket(7)), SIOCOUTQ and TCP_INFO (tcp(7)), IP_BIND_ADDRESS_NO_PORT (ip(7)).
//!
//! The timestamp of a read is that of the packet with the last byte read. It is taken when the packet enters this machine's network stack, also on loopback,
//! and is on CLOCK_REALTIME.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeValLike;
use rustix::net::SendFlags;

use crate::clock::wall_ns;

pub(super) const SEND: SendFlags = SendFlags::NOSIGNAL;

/// Room for one control message with a timespec: 32 bytes on 64-bit machines (cmsg(3)).
#[repr(align(8))]
struct ControlBuffer([u8; 64]);

pub(super) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(socket(family, SockType::Stream, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, SockProtocol::Tcp)?)
}

pub(super) fn choose_port_late(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?)
}

pub(super) fn timestamping_socket() -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    enable_timestamps(socket.as_fd())?;
    Ok(socket)
}

pub(super) fn enable_timestamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?)
}

pub(super) fn receive_stamped(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = ControlBuffer([0; 64]);
    let mut parts = [IoSliceMut::new(into)];
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control.0), MsgFlags::empty())?;
    let stamp = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.num_nanoseconds() as u64),
        _ => None,
    });
    Ok((received.bytes, stamp.and_then(|stamp| wall_ns().checked_sub(stamp))))
}

pub(super) fn unacknowledged_bytes(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open for the length of the call, which writes one c_int.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { u64::try_from(bytes).ok() } else { None }
}

/// `tcpi_rtt`.
pub(super) fn handshake_ns(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open during the call, which writes at most `length` bytes.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length) };
    // SAFETY: the type consists of plain numbers, for which zeros are valid.
    let info = unsafe { info.assume_init() };
    (result == 0 && info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0).then(|| u64::from(info.tcpi_rtt) * 1_000)
}
