//! The descriptors and the TCP sockets of a process.

use super::fill_slice;

/// Descriptors of one process that are listed. Its limit is higher, but the list is only read in full.
const DESCRIPTORS_MAX: usize = 65_536;
/// `<sys/proc_info.h>`. The `libc` crate lacks these.
const PROX_FDTYPE_SOCKET: u32 = 2;
const PROC_PIDFDSOCKETINFO: libc::c_int = 3;
const SOCKINFO_TCP: i32 = 2;

/// `struct socket_fdinfo` as bytes, and offsets of its fields. They are the same for both processors. A compiler of C computed them from
/// `<sys/proc_info.h>`.
#[repr(C, align(8))]
struct SocketInfo([u8; 792]);
const HANDLE_AT: usize = 160;
const WAITING_AT: usize = 194;
const UNREAD_AT: usize = 208;
const KIND_AT: usize = 256;
const LOCAL_PORT_AT: usize = 268;
const STATE_AT: usize = 344;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketFacts {
    /// Identifies the socket.
    pub handle: u64,
    pub local_port: u16,
    pub state: SocketStage,
    /// Bytes unread; of a listening socket, connections not yet accepted.
    pub receive_queue: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketStage {
    Closed,
    Listen,
    Connecting,
    Established,
    /// The peer has ended its side, this one has not.
    CloseWait,
    Closing,
    TimeWait,
}

/// The descriptors of a process.
#[derive(Debug, Default)]
pub struct DescriptorList {
    pid: libc::c_int,
    pub open: usize,
    sockets: Vec<i32>,
}

/// `None`: there is no such process, or it belongs to another user.
pub fn descriptors(pid: u32) -> Option<DescriptorList> {
    let mut entries = vec![libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 }; 256];
    loop {
        let bytes = fill_slice(pid, libc::PROC_PIDLISTFDS, &mut entries)?;
        let count = bytes / size_of::<libc::proc_fdinfo>();
        if count < entries.len() || entries.len() >= DESCRIPTORS_MAX {
            entries.truncate(count);
            break;
        }
        entries.resize(entries.len() * 2, libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 });
    }
    let sockets = entries.iter().filter(|entry| entry.proc_fdtype == PROX_FDTYPE_SOCKET).map(|entry| entry.proc_fd).collect();
    Some(DescriptorList { pid: libc::c_int::try_from(pid).ok()?, open: entries.len(), sockets })
}

impl DescriptorList {
    /// The TCP sockets among the first descriptors that are sockets.
    pub fn tcp_sockets(&self, sockets_max: usize) -> impl Iterator<Item = SocketFacts> {
        self.sockets.iter().take(sockets_max).filter_map(|descriptor| tcp_socket(self.pid, *descriptor))
    }
}

fn tcp_socket(pid: libc::c_int, descriptor: i32) -> Option<SocketFacts> {
    let mut info = SocketInfo([0; 792]);
    let size = size_of::<SocketInfo>() as libc::c_int;
    // SAFETY: the kernel writes at most `size` bytes.
    let written = unsafe { libc::proc_pidfdinfo(pid, descriptor, PROC_PIDFDSOCKETINFO, info.0.as_mut_ptr().cast(), size) };
    if written != size || i32::from_ne_bytes(info.field(KIND_AT)) != SOCKINFO_TCP {
        return None;
    }
    let state = SocketStage::of(i32::from_ne_bytes(info.field(STATE_AT)))?;
    let waiting = u64::try_from(i16::from_ne_bytes(info.field(WAITING_AT))).unwrap_or(0);
    let unread = u64::from(u32::from_ne_bytes(info.field(UNREAD_AT)));
    Some(SocketFacts {
        handle: u64::from_ne_bytes(info.field(HANDLE_AT)),
        // In the order of the network.
        local_port: u16::from_be_bytes(info.field(LOCAL_PORT_AT)),
        state,
        receive_queue: if state == SocketStage::Listen { waiting } else { unread },
    })
}

impl SocketInfo {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }
}

impl SocketStage {
    /// `TSI_S_…` of `<sys/proc_info.h>`.
    fn of(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Closed,
            1 => Self::Listen,
            2 | 3 => Self::Connecting,
            4 => Self::Established,
            5 => Self::CloseWait,
            6..=9 => Self::Closing,
            10 => Self::TimeWait,
            _ => return None,
        })
    }
}
