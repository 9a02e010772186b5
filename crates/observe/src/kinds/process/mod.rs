//! Local processes and their children.
//!
//! The processes are selected again for every reading, so restarts and new workers are included. Counters are sums over all
//! processes, including ended ones.
//!
//! Between two readings, only the connections to other endpoints are sampled: see [`peers`].

mod entry;
pub(crate) mod find;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "macos")]
pub(crate) mod macos;
mod peers;
mod process_total;
pub(crate) mod sockets;
mod threads;
pub(crate) mod which;

#[cfg(target_os = "linux")]
pub(crate) use linux as system;
#[cfg(target_os = "macos")]
pub(crate) use macos as system;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Role, unit};

use crate::collector::{MetricSpec, SignalCollector};
use crate::description::ObserverDescription;
use crate::error::ObserveError;
use crate::jitter::Jitter;
use crate::kind::{MacSupport, ObserverKind};
use crate::reader::{PendingRead, SignalReader, at_once};
use find::ProcessTable;
use peers::PeerCalls;
use process_total::ProcessTotal;
use sockets::{TcpSocket, TcpState};
use threads::Threads;
use which::{NoProcess, PID, PORT, Which};

pub(crate) const KIND: ObserverKind = ObserverKind {
    name: "process",
    watches: "a service on this machine",
    example: "observe.process({ port: 8080 })",
    alternatives: ", by `pid`, or by the `name` of its command",
    reports: "`cpu` (cores in use), `busiest_thread`, `run_delay` (waiting for a core), `throttled` (by a container's limit), `memory`, `threads`, \
            `descriptors`, `sockets{state=…}`, `awaited{peer=…}` (calls to another endpoint without an answer), \
            `ports{peer=…}` (local ports in use for it, from 1,000 on)",
    options: &[PORT, PID],
    on_macos: MacSupport::Partial(
        "not `throttled`, `descriptors`, `awaited` and sockets in TIME_WAIT; other users' processes for root only",
    ),
    make: |description| Ok(Box::new(Process::from_description(description)?)),
};

const CPU: MetricSpec<'_> = MetricSpec::counter("cpu", unit::SECONDS, "CPU time of the processes").role(Role::ProcessCpu);
const CPU_SYSTEM: MetricSpec<'_> = MetricSpec::counter("cpu_system", unit::SECONDS, "CPU time spent in the kernel");
const RUN_DELAY: MetricSpec<'_> =
    MetricSpec::counter("run_delay", unit::SECONDS, "Time that threads were ready to run and waited for a core")
        .role(Role::ProcessRunDelay);
const BUSIEST_THREAD: MetricSpec<'_> =
    MetricSpec::gauge("busiest_thread", "cores", "Cores in use by the busiest thread").role(Role::ProcessThreadCpuMax);
const BUSIEST_THREAD_NAMED: MetricSpec<'_> =
    MetricSpec::gauge("busiest_thread_named", "cores", "Cores in use by the busiest thread, with its name")
        .role(Role::ProcessBusiestThread);
const BUSIEST_THREAD_WAIT: MetricSpec<'_> =
    MetricSpec::gauge("busiest_thread_wait", "1", "Part of the time in which the busiest thread was ready to run and waited for a core")
        .role(Role::ProcessBusiestThreadWait);
const CORES_ALLOWED: MetricSpec<'_> =
    MetricSpec::gauge("cores_allowed", "cores", "Cores that the processes may use, by their mask").role(Role::ProcessCpuMax);
const THROTTLED: MetricSpec<'_> =
    MetricSpec::counter("throttled", unit::SECONDS, "Time that the control group of the processes was held back by its CPU limit")
        .role(Role::GroupThrottled);
const CPU_QUOTA: MetricSpec<'_> =
    MetricSpec::gauge("cpu_quota", "cores", "Cores that the control group of the processes may use").role(Role::GroupCpuMax);
const READ: MetricSpec<'_> = MetricSpec::counter("read_bytes", unit::BYTES, "Bytes read from disk");
const WRITTEN: MetricSpec<'_> = MetricSpec::counter("written_bytes", unit::BYTES, "Bytes written to disk");
const MEMORY: MetricSpec<'_> =
    MetricSpec::gauge("memory", unit::BYTES, "Resident memory; shared memory counts once, by the largest share of a process")
        .role(Role::ProcessMemory);
const THREADS: MetricSpec<'_> = MetricSpec::gauge("threads", unit::COUNT, "Threads").role(Role::ProcessThreads);
const PROCESSES: MetricSpec<'_> = MetricSpec::gauge("processes", unit::COUNT, "Processes").role(Role::ProcessCount);
const DESCRIPTORS: MetricSpec<'_> =
    MetricSpec::gauge("descriptors", unit::COUNT, "Open descriptors of the process closest to its limit").role(Role::ProcessDescriptors);
const DESCRIPTORS_LIMIT: MetricSpec<'_> =
    MetricSpec::gauge("descriptors_limit", unit::COUNT, "Descriptors that process may open").role(Role::ProcessDescriptorsMax);
const SOCKETS: MetricSpec<'_> = MetricSpec::gauge("sockets", unit::COUNT, "TCP sockets by state");
const ACCEPT_QUEUE: MetricSpec<'_> =
    MetricSpec::gauge("accept_queue", unit::COUNT, "Connections that wait to be accepted").role(Role::AcceptQueue);

/// Time between two samples of the connections. Nanoseconds.
const SAMPLE_NS: u64 = 100_000_000;

struct Process {
    which: Which,
    due: FullReadings,
    peers: PeerCalls,
    cpu_user: ProcessTotal,
    cpu_system: ProcessTotal,
    threads: Threads,
    read_bytes: ProcessTotal,
    written_bytes: ProcessTotal,
}

impl SignalReader for Process {
    fn default_name(&self, given: Option<&str>) -> Option<String> {
        self.which.default_name(KIND.name, given)
    }

    fn period_ns(&self, every_ns: u64) -> u64 {
        if self.peers.is_possible() { SAMPLE_NS.min(every_ns) } else { every_ns }
    }

    fn read<'a>(&'a mut self, out: &'a mut SignalCollector) -> PendingRead<'a> {
        if self.due.is_now() {
            return at_once(self.look(out));
        }
        self.peers.sample();
        at_once(Ok::<(), NoProcess>(()))
    }

    fn reset(&mut self) {
        self.due.reset();
        self.peers.reset();
    }
}

/// When the processes are read, and not only their connections sampled: once in each period, at a random instant of its first half.
struct FullReadings {
    every_ns: u64,
    clock: Monotonic,
    jitter: Jitter,
    due_ns: u64,
}

impl FullReadings {
    fn of(which: &Which, description: &ObserverDescription<'_>) -> Self {
        let every_ns = description.duration_ns("every");
        Self { every_ns, clock: Monotonic::start(), jitter: Jitter::new(&which.to_string()), due_ns: 0 }
    }

    fn is_now(&mut self) -> bool {
        let now = self.clock.now();
        if self.every_ns <= SAMPLE_NS {
            return true;
        }
        if now < self.due_ns {
            return false;
        }
        let next = (now / self.every_ns + 1) * self.every_ns;
        self.due_ns = next + self.jitter.next(self.every_ns).as_nanos() as u64;
        true
    }

    fn reset(&mut self) {
        self.due_ns = 0;
    }
}

/// Ids of the processes that listen on a TCP port of this machine, and of all their descendants.
pub fn processes_on(port: u16) -> Vec<u32> {
    let table = ProcessTable::read();
    table.with_descendants(&table.listening_on(port, &system::tcp().unwrap_or_default()))
}

impl Process {
    fn from_description(description: &ObserverDescription<'_>) -> Result<Self, ObserveError> {
        let tally = ProcessTotal::default;
        let which = Which::from_description(description)?;
        Ok(Self {
            due: FullReadings::of(&which, description),
            which,
            peers: PeerCalls::new(),
            cpu_user: tally(),
            cpu_system: tally(),
            threads: Threads::new(),
            read_bytes: tally(),
            written_bytes: tally(),
        })
    }

    /// # Errors
    /// When no process matches, or none of them may be read.
    fn look(&mut self, out: &mut SignalCollector) -> Result<(), NoProcess> {
        let sockets = system::tcp();
        let table = ProcessTable::read();
        let pids = self.which.pids(&table, sockets.as_deref().unwrap_or_default())?;
        let mut sees_descriptors = false;
        let (mut own_bytes, mut shared_bytes, mut threads) = (0.0, 0.0_f64, 0.0);
        let mut is_readable = false;
        let mut has_memory = false;
        let mut cores = 0.0_f64;
        let mut fds_worst = None::<(f64, f64)>;
        let mut inodes = std::collections::HashSet::new();
        for &pid in &pids {
            let Some(usage) = table.entry(pid).and_then(|entry| entry.usage) else { continue };
            is_readable = true;
            let identity = (u64::from(pid), usage.started);
            self.cpu_user.see(identity, usage.user_seconds);
            self.cpu_system.see(identity, usage.system_seconds);
            if let Some((own, shared)) = system::memory(pid) {
                has_memory = true;
                own_bytes += own;
                shared_bytes = shared_bytes.max(shared);
            }
            threads += usage.threads;
            self.io(pid, identity);
            self.threads.see(pid, usage.started);
            cores = cores.max(system::cores_allowed(pid).unwrap_or(0.0));
            let open = system::descriptors(pid, &mut inodes);
            sees_descriptors |= open.is_some();
            let limit = system::descriptors_limit(pid);
            if let (Some(open), Some(limit)) = (open, limit)
                && fds_worst.is_none_or(|(worst_open, worst_limit)| open / limit > worst_open / worst_limit)
            {
                fds_worst = Some((open, limit));
            }
        }
        if !is_readable {
            return Err(NoProcess::Rights(pids[0]));
        }
        out.put(CPU, self.cpu_user.total() + self.cpu_system.total());
        out.put(CPU_SYSTEM, self.cpu_system.total());
        self.report_threads(out);
        if cores > 0.0 {
            out.put(CORES_ALLOWED, cores);
        }
        if let Some((cores, throttled)) = pids.first().and_then(|pid| system::quota(*pid)) {
            throttled.into_iter().for_each(|seconds| out.put(THROTTLED, seconds));
            cores.into_iter().for_each(|cores| out.put(CPU_QUOTA, cores));
        }
        // Absent if no process shows its I/O, as those of other users do not.
        if self.read_bytes.has_seen_any() {
            out.put(READ, self.read_bytes.total());
            out.put(WRITTEN, self.written_bytes.total());
        }
        if has_memory {
            out.put(MEMORY, own_bytes + shared_bytes);
        }
        out.put(THREADS, threads);
        out.put(PROCESSES, pids.len() as f64);
        if let Some((open, limit)) = fds_worst {
            out.put(DESCRIPTORS, open);
            out.put(DESCRIPTORS_LIMIT, limit);
        }
        if let Some(sockets) = sockets.filter(|_| sees_descriptors) {
            self.sockets(&sockets, &inodes, out);
            self.peers.report(&sockets, &inodes, out);
        }
        Ok(())
    }

    fn report_threads(&mut self, out: &mut SignalCollector) {
        if let Some(seconds) = self.threads.run_delay() {
            out.put(RUN_DELAY, seconds);
        }
        if let Some(thread) = self.threads.busiest() {
            out.put(BUSIEST_THREAD, thread.used);
            thread.waited.into_iter().for_each(|waited| out.put(BUSIEST_THREAD_WAIT, waited));
            if let Some(name) = thread.name {
                out.put_labelled(BUSIEST_THREAD_NAMED, &[("thread", &name)], thread.used);
            }
        }
    }

    fn io(&mut self, pid: u32, identity: (u64, u64)) {
        match system::disk_bytes(pid) {
            Some((read, written)) => {
                self.read_bytes.see(identity, read);
                self.written_bytes.see(identity, written);
            }
            None => {
                self.read_bytes.miss(identity);
                self.written_bytes.miss(identity);
            }
        }
    }

    fn sockets(&self, sockets: &[TcpSocket], inodes: &std::collections::HashSet<u64>, out: &mut SignalCollector) {
        let mut counts = std::collections::BTreeMap::<TcpState, f64>::new();
        for state in system::STATES {
            counts.insert(state, 0.0);
        }
        let listening: Vec<u16> =
            sockets.iter().filter(|s| s.state == TcpState::Listen && inodes.contains(&s.inode)).map(|s| s.local_port).collect();
        let mut waiting = 0.0;
        for socket in sockets {
            let ours = inodes.contains(&socket.inode);
            // An accepted connection has its listener's port, even in TIME_WAIT, when no process owns it.
            if ours || (socket.state != TcpState::Listen && listening.contains(&socket.local_port)) {
                *counts.entry(socket.state).or_default() += 1.0;
            }
            if ours && socket.state == TcpState::Listen {
                waiting += socket.receive_queue as f64;
            }
        }
        for (state, count) in counts {
            let sockets = if state == TcpState::Established { SOCKETS.role(Role::ProcessConnections) } else { SOCKETS };
            out.put_labelled(sockets, &[("state", state.name())], count);
        }
        out.put(ACCEPT_QUEUE, waiting);
    }
}
