//! The threads of the observed processes: how long they waited for a core, and the CPU use of the busiest.

use std::collections::{HashMap, HashSet};

use loadstone_metrics::clock::Monotonic;

use super::entry::ThreadCpuTimes;
use super::process_total::ProcessTotal;
use super::system;

/// Threads of one process that are read per reading; more cost too much.
const THREADS_MAX: usize = 1_000;
/// Cores in use from which the busiest thread is named.
const NAMED_CORES_MIN: f64 = 0.5;
/// Distinct names of threads in a run.
const NAMES_MAX: usize = 20;

/// A thread's process and number, and when its process started.
type ThreadId = (u32, u64, u64);

#[derive(Debug)]
pub(super) struct Threads {
    run_delay: ProcessTotal,
    clock: Monotonic,
    /// The time of the last reading, and each thread's times at that reading. Nanoseconds.
    read_at: Option<u64>,
    before: HashMap<ThreadId, ThreadCpuTimes>,
    now: HashMap<ThreadId, ThreadCpuTimes>,
    named: HashSet<String>,
}

/// Since the last reading.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BusiestThread {
    /// Cores in use.
    pub(super) used: f64,
    /// Seconds per second that it waited for a core; `None`: the kernel does not count it for threads.
    pub(super) waited: Option<f64>,
    /// If it is busy.
    pub(super) name: Option<String>,
}

impl Threads {
    pub(super) fn new() -> Self {
        Self {
            run_delay: ProcessTotal::default(),
            clock: Monotonic::start(),
            read_at: None,
            before: HashMap::new(),
            now: HashMap::new(),
            named: HashSet::new(),
        }
    }

    pub(super) fn see(&mut self, pid: u32, started: u64) {
        if let Some(seconds) = system::core_wait_seconds(pid) {
            self.run_delay.see((u64::from(pid), started), seconds);
        }
        for thread in system::threads(pid).take(THREADS_MAX) {
            if loadstone_platform::COUNTS_WAITS {
                self.run_delay.see((thread.id, started), thread.waited_ns as f64 / 1e9);
            }
            self.now.insert((pid, thread.id, started), thread);
        }
    }

    /// Seconds that threads were ready to run and waited for a core. `None` if the kernel shows it of no thread.
    pub(super) fn run_delay(&self) -> Option<f64> {
        self.run_delay.has_seen_any().then(|| self.run_delay.total())
    }

    /// The thread that used most CPU time since the last reading; `None` for the first.
    pub(super) fn busiest(&mut self) -> Option<BusiestThread> {
        let now = self.clock.now();
        let elapsed = self.read_at.replace(now).map(|before| now.saturating_sub(before));
        let grown = self.now.iter().map(|(id, times)| {
            let before = self.before.get(id).unwrap_or(times);
            (times.used_ns.saturating_sub(before.used_ns), times.waited_ns.saturating_sub(before.waited_ns), *id)
        });
        let most = grown.max();
        self.before = std::mem::take(&mut self.now);
        let ((used_ns, waited_ns, id), elapsed) = (most?, elapsed.filter(|elapsed| *elapsed > 0)?);
        let part = |ns: u64| ns as f64 / elapsed as f64;
        let used = part(used_ns);
        let name = if used >= NAMED_CORES_MIN { self.name(id) } else { None };
        Some(BusiestThread { used, waited: loadstone_platform::COUNTS_WAITS.then(|| part(waited_ns)), name })
    }

    /// `None` if the thread is gone or has no name, or too many threads were named.
    fn name(&mut self, (pid, tid, _): ThreadId) -> Option<String> {
        let name = system::thread_name(pid, tid)?;
        let is_new = !self.named.contains(&name);
        if name.is_empty() || (is_new && self.named.len() >= NAMES_MAX) {
            return None;
        }
        self.named.insert(name.clone());
        Some(name)
    }
}
