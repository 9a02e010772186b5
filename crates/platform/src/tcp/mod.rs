//! What the kernel knows of a TCP connection, and sockets that no runtime has created.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::socket::AddressFamily;
use rustix::net::SendFlags;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

/// Flags of each send: a connection that the peer has closed causes an error and no signal.
pub const SEND: SendFlags = system::SEND;

/// A non-blocking stream socket that child processes do not inherit. Send with [`SEND`].
///
/// # Errors
/// No descriptor is left, or the family is not supported.
pub fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    system::stream_socket(family)
}

/// Leaves the choice of the local port to connect instead of bind, so that one local port can serve many targets. macOS cannot: each bound socket takes a
/// port.
///
/// # Errors
/// The kernel refuses.
pub fn choose_port_late(socket: &impl AsFd) -> io::Result<()> {
    system::choose_port_late(socket.as_fd())
}

/// A socket on which timestamps are enabled. The kernel may change how it handles packets when the first socket enables them.
///
/// # Errors
/// The kernel does not provide timestamps of TCP data.
pub fn timestamping_socket() -> io::Result<OwnedFd> {
    system::timestamping_socket()
}

/// Enables timestamps of received data.
///
/// # Errors
/// The kernel does not provide timestamps of TCP data.
pub fn enable_timestamps(socket: &impl AsFd) -> io::Result<()> {
    system::enable_timestamps(socket.as_fd())
}

/// Reads once. Returns the number of bytes, and how long the last of them had been in the kernel. Nanoseconds. `None` without a timestamp, and if the wall
/// clock was set back in between.
///
/// # Errors
/// Those of recvmsg(2).
pub fn receive_stamped(socket: &impl AsFd, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    system::receive_stamped(socket.as_fd(), into)
}

/// Bytes written that the peer's machine has not acknowledged. Also valid after the connection has ended.
pub fn unacknowledged_bytes(socket: &impl AsFd) -> Option<u64> {
    system::unacknowledged_bytes(socket.as_fd())
}

/// How long the handshake of a new connection took, as the kernel measured it. Nanoseconds. `None` if a packet was retransmitted, which prevents the
/// measurement, or the kernel does not measure that exactly.
pub fn handshake_ns(socket: &impl AsFd) -> Option<u64> {
    system::handshake_ns(socket.as_fd())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn a_stamped_read_returns_the_bytes_and_how_long_they_waited() {
        let (near, mut far) = connected();
        let is_stamped = enable_timestamps(&near).is_ok();
        assert_eq!(is_stamped, timestamping_socket().is_ok());
        // The kernel timestamps packets only some time after the first socket has asked for it.
        let stamped = (0..100_000).find_map(|_| {
            let begun = crate::clock::monotonic_ns();
            far.write_all(b"hello").unwrap();
            let mut buffer = [0; 16];
            let (count, waited_ns) = receive_stamped(&near, &mut buffer).unwrap();
            let since_write_ns = crate::clock::monotonic_ns() - begun;
            assert_eq!(&buffer[..count], b"hello");
            (waited_ns.is_some() || !is_stamped).then_some((waited_ns, since_write_ns))
        });
        let (waited_ns, since_write_ns) = stamped.unwrap();
        assert_eq!(is_stamped, waited_ns.is_some());
        assert!(waited_ns.is_none_or(|waited_ns| waited_ns <= since_write_ns), "{waited_ns:?} of {since_write_ns}");
    }

    #[test]
    fn bytes_count_until_the_peer_has_acknowledged_them() {
        let (mut near, mut far) = connected();
        assert_eq!(unacknowledged_bytes(&near), Some(0));
        near.set_nonblocking(true).unwrap();
        // More than the peer has room for.
        while near.write(&[0; 1 << 16]).is_ok() {}
        assert!(unacknowledged_bytes(&near) > Some(0));
        drop(near);
        far.read_to_end(&mut Vec::new()).unwrap();
    }
}
