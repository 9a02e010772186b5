//! TCP sockets of this machine, as the kernel lists them.

use std::net::SocketAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    pub(crate) local_port: u16,
    pub(crate) state: TcpState,
    /// Bytes unread; of a listening socket, connections not yet accepted.
    pub(crate) receive_queue: u64,
    /// Identifies the socket. 0 for one that no process holds.
    pub(crate) inode: u64,
    /// `None` where the kernel does not list them.
    pub(crate) ends: Option<TcpEnds>,
}

/// Both addresses of a connection. IPv4 over a socket of IPv6 has mapped addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpEnds {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

/// States that are useful for diagnosis; the short-lived others are one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TcpState {
    Established,
    Connecting,
    Closing,
    CloseWait,
    TimeWait,
    Listen,
}

impl TcpState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            TcpState::Established => "established",
            TcpState::Connecting => "connecting",
            TcpState::Closing => "closing",
            TcpState::CloseWait => "close_wait",
            TcpState::TimeWait => "time_wait",
            TcpState::Listen => "listen",
        }
    }
}
