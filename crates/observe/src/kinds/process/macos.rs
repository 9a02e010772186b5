//! Processes, from libproc. What the kernel does not show is absent: descriptor limits, CPU limits of groups, signals that a process handles, and sockets in
//! TIME_WAIT, which no process holds.

use std::collections::{HashMap, HashSet};

use loadstone_platform::machine;
use loadstone_platform::processes::{self, DescriptorList, SocketFacts, SocketStage};

use super::entry::{ProcessEntry, ProcessUsage, ThreadCpuTimes};
use super::sockets::{TcpEnds, TcpSocket, TcpState};

/// States of sockets that are reported although no socket is in them.
pub(crate) const STATES: [TcpState; 3] = [TcpState::Established, TcpState::CloseWait, TcpState::Listen];

/// Sockets that are read individually per process. Without this limit, a server with ten thousand connections would be too expensive to observe.
const SOCKETS_MAX: usize = 1_024;

/// All processes.
pub(crate) fn entries() -> HashMap<u32, ProcessEntry> {
    let entry = |pid: u32| {
        let facts = processes::facts(pid)?;
        let usage = processes::task(pid).map(|task| ProcessUsage {
            user_seconds: task.user_ns as f64 / 1e9,
            system_seconds: task.system_ns as f64 / 1e9,
            threads: f64::from(task.threads),
            started: task.started_us,
        });
        Some((pid, ProcessEntry { name: facts.name, parent: facts.parent, usage }))
    };
    processes::ids().into_iter().filter_map(entry).collect()
}

/// The file name of the command that a process was started with.
pub(crate) fn command_name(pid: u32) -> Option<String> {
    program(pid)
}

/// The file name of the program that a process runs.
pub(crate) fn program(pid: u32) -> Option<String> {
    Some(processes::program(pid)?.file_name()?.to_string_lossy().into_owned())
}

/// macOS has no control groups, so nothing limits the CPU time.
pub(crate) fn quota(_pid: u32) -> Option<(Option<f64>, Option<f64>)> {
    None
}

/// Bytes read from disk, and written to it.
pub(crate) fn disk_bytes(pid: u32) -> Option<(f64, f64)> {
    processes::resources(pid).map(|used| (used.read_bytes as f64, used.written_bytes as f64))
}

/// Resident memory. The kernel does not show which part is shared.
pub(crate) fn memory(pid: u32) -> Option<(f64, f64)> {
    processes::task(pid).map(|task| (task.resident_bytes as f64, 0.0))
}

pub(crate) fn threads(pid: u32) -> impl Iterator<Item = ThreadCpuTimes> {
    processes::threads(pid).into_iter().map(|thread| ThreadCpuTimes { id: thread.id, used_ns: thread.cpu_ns, waited_ns: 0 })
}

pub(crate) fn thread_name(pid: u32, id: u64) -> Option<String> {
    processes::threads(pid).into_iter().find(|thread| thread.id == id).map(|thread| thread.name)
}

/// Time that the threads of a process waited for a core, where the kernel counts it for the process alone.
pub(crate) fn core_wait_seconds(pid: u32) -> Option<f64> {
    processes::resources(pid).map(|used| used.core_wait_ns as f64 / 1e9)
}

/// The kernel shows only this process its limit.
pub(crate) fn descriptors_limit(_pid: u32) -> Option<f64> {
    None
}

/// A process cannot be held to some cores.
pub(crate) fn cores_allowed(_pid: u32) -> Option<f64> {
    machine::cores().map(f64::from)
}

/// The kernel does not show which signals a process handles, so none is sent.
pub(crate) fn catches(_pid: u32, _signal: rustix::process::Signal) -> bool {
    false
}

/// How many descriptors a process has open. Adds the handles of its first sockets. `None` when access is denied.
pub(crate) fn descriptors(pid: u32, handles: &mut HashSet<u64>) -> Option<f64> {
    let list = processes::descriptors(pid)?;
    handles.extend(list.tcp_sockets(SOCKETS_MAX).map(|socket| socket.handle));
    Some(list.open as f64)
}

/// The TCP sockets of all processes of this user; of all processes for root.
pub(crate) fn tcp() -> Option<Vec<TcpSocket>> {
    let lists: Vec<DescriptorList> = processes::ids().into_iter().filter_map(processes::descriptors).collect();
    Some(lists.iter().flat_map(|list| list.tcp_sockets(SOCKETS_MAX)).filter_map(converted).collect())
}

fn converted(socket: SocketFacts) -> Option<TcpSocket> {
    let state = match socket.state {
        SocketStage::Closed => return None,
        SocketStage::Listen => TcpState::Listen,
        SocketStage::Connecting => TcpState::Connecting,
        SocketStage::Established => TcpState::Established,
        SocketStage::CloseWait => TcpState::CloseWait,
        SocketStage::Closing => TcpState::Closing,
        SocketStage::TimeWait => TcpState::TimeWait,
    };
    Some(TcpSocket { local_port: socket.local_port, state, receive_queue: socket.receive_queue, inode: socket.handle, ends: None })
}

/// Connections in TIME_WAIT, which hold most ports, are not listed.
pub(crate) fn local_ports() -> Option<f64> {
    None
}

/// The kernel shows no times of a connection.
#[derive(Debug)]
pub(crate) struct SocketProbe(std::convert::Infallible);

impl SocketProbe {
    pub(crate) fn open() -> Option<Self> {
        None
    }

    pub(crate) fn awaits_answer(&mut self, _ends: &TcpEnds) -> Option<bool> {
        match self.0 {}
    }
}
