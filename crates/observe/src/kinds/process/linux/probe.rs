//! One TCP connection of any process, by the kernel's socket diagnosis (sock_diag(7)). It needs no rights, and the process does not notice it.

use std::net::{IpAddr, SocketAddr};

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

use crate::kinds::process::sockets::TcpEnds;

/// Numbers of linux/sock_diag.h, linux/inet_diag.h, linux/netlink.h and net/tcp_states.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const INET_DIAG_INFO: u16 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const STATE_ESTABLISHED: u8 = 1;
const STATE_SYN_SENT: u8 = 2;
/// Length of `struct nlmsghdr`, of `struct inet_diag_msg`, and of both.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
/// Positions in `struct tcp_info`. The times are milliseconds ago, in steps of the kernel's clock.
const UNACKED: usize = 24;
const LAST_DATA_SENT: usize = 44;
const LAST_DATA_RECEIVED: usize = 52;
const LAST_ACK_RECEIVED: usize = 56;
/// Within this time after data, an acknowledgement without data belongs to it. Delayed acknowledgements take up to 200 ms. Those of a keepalive come after
/// seconds without data. Milliseconds.
const ACK_DELAY_MAX_MS: u32 = 200;

#[derive(Debug)]
pub(crate) struct SocketProbe {
    netlink: OwnedFd,
    answer: Vec<u8>,
}

impl SocketProbe {
    /// `None` if the kernel has no socket diagnosis.
    pub(crate) fn open() -> Option<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG)).ok()?;
        Some(Self { netlink, answer: vec![0; 4_096] })
    }

    /// Whether the connection waits for an answer of the remote end. `None`: there is no such connection any more.
    pub(crate) fn awaits_answer(&mut self, ends: &TcpEnds) -> Option<bool> {
        send(&self.netlink, &request(ends), SendFlags::empty()).ok()?;
        // The kernel answers within `send`.
        let (length, _) = recv(&self.netlink, &mut self.answer[..], RecvFlags::empty()).ok()?;
        awaits(self.answer.get(..length)?)
    }
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request(ends: &TcpEnds) -> Vec<u8> {
    let family = if ends.local.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut bytes = Vec::with_capacity(HEADER + 56);
    bytes.extend(((HEADER + 56) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port are not used.
    bytes.extend([0; 8]);
    bytes.extend([family, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(ends.local.port().to_be_bytes());
    bytes.extend(ends.remote.port().to_be_bytes());
    bytes.extend(sixteen(&ends.local));
    bytes.extend(sixteen(&ends.remote));
    // Any interface, and any cookie.
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([0xff; 8]);
    bytes
}

fn sixteen(address: &SocketAddr) -> [u8; 16] {
    match address.ip() {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&ip.octets());
            bytes
        }
    }
}

/// An answer of the kernel: a header, a `struct inet_diag_msg`, and attributes. `None` if it is an error, or no such answer.
fn awaits(answer: &[u8]) -> Option<bool> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let state = *answer.get(HEADER + 1)?;
    match (kind, state) {
        (SOCK_DIAG_BY_FAMILY, STATE_SYN_SENT) => Some(true),
        (SOCK_DIAG_BY_FAMILY, STATE_ESTABLISHED) => awaits_by_times(attribute(answer.get(HEADER + MESSAGE..)?, INET_DIAG_INFO)?),
        _ => None,
    }
}

/// A list of length, type, and content, each from a multiple of four bytes on.
fn attribute(mut list: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(list.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(list.get(2..4)?.try_into().ok()?);
        if kind == wanted {
            return list.get(4..length);
        }
        list = list.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// Data was sent after the last data arrived. If both happened within one step of the clock, data that is not acknowledged, or that was acknowledged without
/// an answer, was sent last.
fn awaits_by_times(info: &[u8]) -> Option<bool> {
    let number = |at: usize| Some(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?));
    let (sent, received, acknowledged) = (number(LAST_DATA_SENT)?, number(LAST_DATA_RECEIVED)?, number(LAST_ACK_RECEIVED)?);
    let acknowledged_after = received.saturating_sub(acknowledged);
    let is_acknowledged_alone = sent == received && (1..=ACK_DELAY_MAX_MS).contains(&acknowledged_after);
    Some(sent < received || number(UNACKED)? > 0 || is_acknowledged_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(unacked: u32, sent_ms: u32, received_ms: u32, acknowledged_ms: u32) -> Vec<u8> {
        let mut bytes = vec![0; 104];
        for (at, value) in
            [(UNACKED, unacked), (LAST_DATA_SENT, sent_ms), (LAST_DATA_RECEIVED, received_ms), (LAST_ACK_RECEIVED, acknowledged_ms)]
        {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn what_was_sent_last_has_no_answer() {
        let awaits = |unacked, sent, received, acknowledged| awaits_by_times(&info(unacked, sent, received, acknowledged)).unwrap();
        assert!(awaits(0, 8, 400, 8), "a request after a pause");
        assert!(!awaits(0, 12, 8, 8), "its answer");
        assert!(!awaits(0, 8, 8, 8), "both at once, then nothing");
        assert!(awaits(1, 8, 8, 8), "the next request at once, in flight");
        assert!(awaits(0, 60, 60, 20), "the same, acknowledged without an answer");
        assert!(!awaits(0, 30_000, 30_000, 15_000), "an idle connection with a keepalive");
        assert_eq!(awaits_by_times(&[0; 50]), None);
    }

    #[test]
    fn attributes_are_found_behind_others() {
        let list = [6, 0, 7, 0, 1, 2, 0, 0, 8, 0, 2, 0, 3, 4, 5, 6];
        let native: Vec<u8> = if cfg!(target_endian = "little") { list.to_vec() } else { return };
        assert_eq!(attribute(&native, 2), Some(&[3, 4, 5, 6][..]));
        assert_eq!((attribute(&native, 9), attribute(&[1, 0], 2), attribute(&[0; 8], 2)), (None, None, None));
        assert_eq!(awaits(&[0; 20]), None);
    }
}
