//! Local processes and their children.
//!
//! Found anew for every reading, so a restart or a new worker is seen. Counters add up over all processes and keep what ended ones
//! had used.

mod find;
mod sockets;
mod tally;

use std::fmt;

use crate::ObserveError;
use crate::description::Description;
use crate::procfs::{pairs, read, ticks_per_second};
use crate::readings::Readings;
use find::Table;
use sockets::{Socket, State};
use tally::Tally;

/// Threads whose run-queue delay is read per reading; more cost too much.
const THREADS_MAX: usize = 1_000;

/// Which processes: all that match, and their descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// Listening on this TCP port.
    Port(u16),
    Pid(u32),
    /// Whose command is called so.
    Name(String),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Port(port) => write!(f, "{port}"),
            Which::Pid(pid) => write!(f, "{pid}"),
            Which::Name(name) => f.write_str(name),
        }
    }
}

impl Which {
    pub(crate) fn from_description(description: &mut Description<'_>, name: Option<&str>) -> Result<Self, ObserveError> {
        let port = description.number("port", u32::from(u16::MAX))?;
        let pid = description.number("pid", i32::MAX as u32)?;
        match (port, pid, name) {
            (Some(port), None, _) => Ok(Which::Port(port as u16)),
            (None, Some(pid), _) => Ok(Which::Pid(pid)),
            (None, None, Some(name)) => Ok(Which::Name(name.to_owned())),
            (None, None, None) => Err(description.problem("give one of port, pid or name")),
            (Some(_), Some(_), _) => Err(description.problem("give only one of port and pid")),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Process {
    which: Which,
    cpu_user: Tally,
    cpu_system: Tally,
    run_delay: Tally,
    read_bytes: Tally,
    written_bytes: Tally,
}

impl Process {
    pub(crate) fn new(which: Which) -> Self {
        let tally = Tally::default;
        Self { which, cpu_user: tally(), cpu_system: tally(), run_delay: tally(), read_bytes: tally(), written_bytes: tally() }
    }

    /// # Errors
    /// When no process matches, or none of them may be read.
    pub(crate) fn read(&mut self, out: &mut Readings) -> Result<(), String> {
        let sockets = sockets::tcp();
        let table = Table::read();
        let roots = match &self.which {
            Which::Pid(pid) => table.with_pid(*pid),
            Which::Name(name) => table.with_name(name),
            Which::Port(port) => table.listening_on(*port, &sockets),
        };
        let pids = table.with_descendants(&roots);
        if pids.is_empty() {
            return Err(self.nobody());
        }
        let (mut own_pages, mut shared_pages, mut threads) = (0.0, 0.0_f64, 0.0);
        let mut fds_worst = None::<(f64, f64)>;
        let mut inodes = std::collections::HashSet::new();
        for &pid in &pids {
            let Some(entry) = table.entry(pid) else { continue };
            let identity = (u64::from(pid), entry.started);
            self.cpu_user.see(identity, entry.user_ticks / ticks_per_second());
            self.cpu_system.see(identity, entry.system_ticks / ticks_per_second());
            if let Some((own, shared)) = find::memory_pages(pid) {
                own_pages += own;
                shared_pages = shared_pages.max(shared);
            }
            threads += entry.threads;
            self.io(pid, identity);
            self.run_delay(pid, entry.started);
            let open = find::descriptors(pid, &mut inodes);
            let limit = find::descriptors_limit(pid);
            if let (Some(open), Some(limit)) = (open, limit)
                && fds_worst.is_none_or(|(worst_open, worst_limit)| open / limit > worst_open / worst_limit)
            {
                fds_worst = Some((open, limit));
            }
        }
        out.counter("cpu", "seconds", "CPU time of the processes", self.cpu_user.total() + self.cpu_system.total());
        out.counter("cpu_system", "seconds", "CPU time spent in the kernel", self.cpu_system.total());
        out.counter("run_delay", "seconds", "Time that threads were ready to run and waited for a core", self.run_delay.total());
        out.counter("read_bytes", "bytes", "Bytes read from disk", self.read_bytes.total());
        out.counter("written_bytes", "bytes", "Bytes written to disk", self.written_bytes.total());
        let memory = (own_pages + shared_pages) * rustix::param::page_size() as f64;
        out.gauge("memory", "bytes", "Resident memory; what processes share counts once, as much as the largest share", memory);
        out.gauge("threads", "1", "Threads", threads);
        out.gauge("processes", "1", "Processes", pids.len() as f64);
        if let Some((open, limit)) = fds_worst {
            out.gauge("descriptors", "1", "Open descriptors of the process nearest its limit", open);
            out.gauge("descriptors_limit", "1", "Descriptors that process may open", limit);
        }
        self.sockets(&sockets, &inodes, out);
        Ok(())
    }

    fn nobody(&self) -> String {
        match &self.which {
            Which::Port(port) => format!("no process that may be looked at listens on TCP port {port}"),
            Which::Pid(pid) => format!("there is no process {pid}"),
            Which::Name(name) => format!("there is no process called \"{name}\""),
        }
    }

    fn io(&mut self, pid: u32, identity: (u64, u64)) {
        // Another user's process does not show its I/O; the signal then stays at zero.
        let Ok(text) = read(format!("/proc/{pid}/io")) else { return };
        let io = pairs(&text);
        let of = |name: &str| io.get(name).map_or(0.0, |bytes| *bytes as f64);
        self.read_bytes.see(identity, of("read_bytes"));
        self.written_bytes.see(identity, of("write_bytes"));
    }

    /// `/proc/PID/task/TID/schedstat`: ns on a core, ns waiting for one, slices.
    fn run_delay(&mut self, pid: u32, started: u64) {
        for tid in find::numbered(format!("/proc/{pid}/task")).take(THREADS_MAX) {
            let Ok(text) = read(format!("/proc/{pid}/task/{tid}/schedstat")) else { continue };
            if let Some(waited_ns) = text.split_whitespace().nth(1).and_then(|word| word.parse::<f64>().ok()) {
                self.run_delay.see((u64::from(tid), started), waited_ns / 1e9);
            }
        }
    }

    fn sockets(&self, sockets: &[Socket], inodes: &std::collections::HashSet<u64>, out: &mut Readings) {
        let mut counts = std::collections::BTreeMap::<State, f64>::new();
        for state in [State::Established, State::CloseWait, State::TimeWait, State::Listen] {
            counts.insert(state, 0.0);
        }
        let listening: Vec<u16> =
            sockets.iter().filter(|s| s.state == State::Listen && inodes.contains(&s.inode)).map(|s| s.local_port).collect();
        let mut waiting = 0.0;
        for socket in sockets {
            let ours = inodes.contains(&socket.inode);
            // An accepted connection has its listener's port, also in TIME_WAIT, when it belongs to nobody any more.
            if ours || (socket.state != State::Listen && listening.contains(&socket.local_port)) {
                *counts.entry(socket.state).or_default() += 1.0;
            }
            if ours && socket.state == State::Listen {
                waiting += socket.receive_queue as f64;
            }
        }
        for (state, count) in counts {
            out.gauge(&format!("sockets{{state={}}}", state.name()), "1", "TCP sockets by state", count);
        }
        out.gauge("accept_queue", "1", "Connections that wait to be accepted", waiting);
    }
}
