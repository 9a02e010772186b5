//! What the machine did to a worker: read once a second from /proc, put beside the worker's own counts.

use metrics::clock::thread_cpu_ns;
use metrics::{GeneratorSlice, Nanos};

/// Reads the growth of the kernel's counters since the last reading. A file that cannot be read counts as zero.
#[derive(Debug)]
pub(crate) struct HostMeter {
    /// Also the counters of the whole machine; one worker does it for all.
    machine: bool,
    at: Nanos,
    cpu_ns: u64,
    run_queue_ns: u64,
    steal_ns: u64,
    throttled_ns: u64,
    retransmits: u64,
}

impl HostMeter {
    /// Must be called on the worker's thread.
    pub(crate) fn start(machine: bool, now: Nanos) -> Self {
        let mut meter = Self { machine, at: now, cpu_ns: 0, run_queue_ns: 0, steal_ns: 0, throttled_ns: 0, retransmits: 0 };
        meter.read_into(&mut GeneratorSlice::default(), now);
        meter
    }

    pub(crate) fn read_into(&mut self, slice: &mut GeneratorSlice, now: Nanos) {
        slice.wall_ns += growth(&mut self.at, now);
        slice.busy_ns += growth(&mut self.cpu_ns, thread_cpu_ns());
        slice.run_queue_ns += growth(&mut self.run_queue_ns, run_queue_ns());
        if self.machine {
            slice.steal_ns += growth(&mut self.steal_ns, steal_ns());
            slice.throttled_ns += growth(&mut self.throttled_ns, throttled_ns());
            slice.retransmits += growth(&mut self.retransmits, retransmits());
        }
    }
}

fn growth(last: &mut u64, now: u64) -> u64 {
    now.saturating_sub(std::mem::replace(last, now))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Second field of schedstat: time runnable without running (kernel: Documentation/scheduler/sched-stats.rst).
fn run_queue_ns() -> u64 {
    read("/proc/thread-self/schedstat").split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Eighth value of the first line of /proc/stat, in ticks of 1/100 s (proc(5)).
fn steal_ns() -> u64 {
    let ticks: u64 = read("/proc/stat").lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse().ok()).unwrap_or(0);
    ticks * 10_000_000
}

fn throttled_ns() -> u64 {
    let stat = read("/sys/fs/cgroup/cpu.stat");
    let usec = stat.lines().find_map(|line| line.strip_prefix("throttled_usec ")?.trim().parse::<u64>().ok());
    usec.unwrap_or(0) * 1_000
}

/// `RetransSegs` of /proc/net/snmp: the Tcp lines come in pairs, names and values.
fn retransmits() -> u64 {
    let snmp = read("/proc/net/snmp");
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "RetransSegs").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}
