//! The threads of the observed processes: how long they waited for a core, and the CPU use of the busiest.

use std::collections::{HashMap, HashSet};

use loadstone_metrics::clock::Monotonic;

use super::find;
use super::process_total::ProcessTotal;
use crate::procfs::read;

/// Threads of one process that are read per reading; more cost too much.
const THREADS_MAX: usize = 1_000;
/// Cores in use from which the busiest thread is named.
const NAMED_CORES_MIN: f64 = 0.5;
/// Distinct names of threads in a run.
const NAMES_MAX: usize = 20;

/// A thread's number, and when its process started.
type ThreadId = (u64, u64);

#[derive(Debug)]
pub(super) struct Threads {
    run_delay: ProcessTotal,
    clock: Monotonic,
    /// The time of the last reading, and each thread's CPU time at that reading. Nanoseconds.
    read_at: Option<u64>,
    before: HashMap<ThreadId, u64>,
    now: HashMap<ThreadId, u64>,
    named: HashSet<String>,
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

    /// `/proc/PID/task/TID/schedstat`: ns on a core, ns waiting for one, slices.
    pub(super) fn see(&mut self, pid: u32, started: u64) {
        for tid in find::numbered(format!("/proc/{pid}/task")).take(THREADS_MAX) {
            let Ok(text) = read(format!("/proc/{pid}/task/{tid}/schedstat")) else { continue };
            let mut words = text.split_whitespace().map(str::parse::<u64>);
            let (Some(Ok(used_ns)), Some(Ok(waited_ns))) = (words.next(), words.next()) else { continue };
            let id = (u64::from(tid), started);
            self.run_delay.see(id, waited_ns as f64 / 1e9);
            self.now.insert(id, used_ns);
        }
    }

    /// Seconds that threads were ready to run and waited for a core. `None` if the kernel shows it of no thread.
    pub(super) fn run_delay(&self) -> Option<f64> {
        self.run_delay.has_seen_any().then(|| self.run_delay.total())
    }

    /// Cores in use by the busiest thread since the last reading, and its name if it is busy; `None` for the first.
    pub(super) fn busiest(&mut self) -> Option<(f64, Option<String>)> {
        let now = self.clock.now();
        let elapsed = self.read_at.replace(now).map(|before| now.saturating_sub(before));
        let grown = self.now.iter().map(|(id, used)| (used.saturating_sub(self.before.get(id).copied().unwrap_or(*used)), *id));
        let most = grown.max();
        self.before = std::mem::take(&mut self.now);
        let ((grown, id), elapsed) = (most?, elapsed.filter(|elapsed| *elapsed > 0)?);
        let used = grown as f64 / elapsed as f64;
        let name = if used >= NAMED_CORES_MIN { self.name(id) } else { None };
        Some((used, name))
    }

    /// The thread's name, as the kernel has it. `None` if it is gone, or too many threads were named.
    fn name(&mut self, (tid, _): ThreadId) -> Option<String> {
        // Each thread has its entry under /proc, which no listing shows.
        let name = read(format!("/proc/{tid}/comm")).ok()?.trim().to_owned();
        let is_new = !self.named.contains(&name);
        if name.is_empty() || (is_new && self.named.len() >= NAMES_MAX) {
            return None;
        }
        self.named.insert(name.clone());
        Some(name)
    }
}
