//! How the machine affected a worker: read once a second from /proc, and added to the worker's own counts.

use loadstone_metrics::clock::{raw_ahead_ns, thread_cpu_ns};
use loadstone_metrics::{GeneratorSlice, Nanos};

use crate::cgroup::CpuLimits;

/// Reads the growth of the kernel's counters since the last reading. A file that cannot be read counts as zero.
#[derive(Debug, Default)]
pub(crate) struct HostMeter {
    /// Set on one worker, which also reads the counters of the whole machine for all workers.
    machine: Option<CpuLimits>,
    at: Nanos,
    cpu_ns: u64,
    run_queue_ns: u64,
    raw_ahead_ns: i64,
    steal_ns: u64,
    throttled_ns: u64,
    retransmits: u64,
    syn_retransmits: u64,
}

impl HostMeter {
    /// Must be called on the worker's thread.
    pub(crate) fn start(machine: bool, now: Nanos) -> Self {
        let mut meter = Self { machine: machine.then(CpuLimits::find), at: now, ..Self::default() };
        meter.read_into(&mut GeneratorSlice::default(), now);
        meter
    }

    pub(crate) fn read_into(&mut self, slice: &mut GeneratorSlice, now: Nanos) {
        let wall_ns = growth(&mut self.at, now);
        slice.wall_ns += wall_ns;
        slice.busy_ns += growth(&mut self.cpu_ns, thread_cpu_ns());
        slice.run_queue_ns += growth(&mut self.run_queue_ns, run_queue_ns());
        if let Some(limits) = &self.machine {
            let snmp = read("/proc/net/snmp");
            let netstat = read("/proc/net/netstat");
            let ahead_ns = raw_ahead_ns();
            slice.raw_ns += wall_ns.saturating_add_signed(ahead_ns - std::mem::replace(&mut self.raw_ahead_ns, ahead_ns));
            slice.steal_ns += growth(&mut self.steal_ns, steal_ns());
            slice.throttled_ns += growth(&mut self.throttled_ns, limits.throttled_ns());
            slice.retransmits += growth(&mut self.retransmits, counter(&snmp, "Tcp:", "RetransSegs"));
            slice.syn_retransmits += growth(&mut self.syn_retransmits, counter(&netstat, "TcpExt:", "TCPSynRetrans"));
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

/// A value of /proc/net/snmp or netstat: the lines of a group come in pairs, names and values (proc(5)).
fn counter(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_group_and_name() {
        let text = "Ip: InSegs\nIp: 1\nTcp: InSegs RetransSegs\nTcp: 7 12\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), 12);
        assert_eq!(counter(text, "Tcp:", "OutSegs"), 0);
        assert_eq!(counter("", "Tcp:", "RetransSegs"), 0);
    }

    #[test]
    fn a_late_reading_is_not_clock_drift() {
        let mut meter = HostMeter::start(true, 0);
        let mut slice = GeneratorSlice::default();
        meter.read_into(&mut slice, 5_000_000_000);
        // The test passes the five seconds as an argument instead of waiting. The difference contains only how far the clocks diverged since the
        // start.
        assert!(slice.wall_ns.abs_diff(slice.raw_ns) < 1_000_000, "{} and {}", slice.wall_ns, slice.raw_ns);
    }

    #[test]
    fn the_kernels_own_files_have_the_counters() {
        let names = |path: &str, group: &str| read(path).lines().find(|line| line.starts_with(group)).unwrap_or_default().to_owned();
        assert!(names("/proc/net/snmp", "Tcp:").contains(" RetransSegs"));
        assert!(names("/proc/net/netstat", "TcpExt:").contains(" TCPSynRetrans"));
    }
}
