//! How the machine affected a worker: read once a second from /proc, and added to the worker's own counts.

use loadstone_metrics::clock::{raw_ahead_ns, thread_cpu_ns};
use loadstone_metrics::{GeneratorSlice, Nanos};

use crate::cgroup::CpuLimits;

/// Reads the growth of the kernel's counters since the last reading.
///
/// A counter that cannot be read (for example, because no descriptor is free) is absent, not zero: its growth is part of the next reading.
#[derive(Debug, Default)]
pub(crate) struct HostMeter {
    /// Set on one worker, which also reads the counters of the whole machine for all workers.
    machine: Option<CpuLimits>,
    at: Nanos,
    cpu_ns: u64,
    run_queue_ns: Option<u64>,
    raw_ahead_ns: i64,
    steal_ns: Option<u64>,
    throttled_ns: Option<u64>,
    retransmits: Option<u64>,
    syn_retransmits: Option<u64>,
}

impl HostMeter {
    /// Must be called on the worker's thread.
    pub(crate) fn start(machine: bool, now: Nanos) -> Self {
        let mut meter = Self { machine: machine.then(CpuLimits::find), at: now, ..Self::default() };
        meter.read_into(&mut GeneratorSlice::default(), now);
        meter
    }

    pub(crate) fn read_into(&mut self, slice: &mut GeneratorSlice, now: Nanos) {
        let wall_ns = now.saturating_sub(std::mem::replace(&mut self.at, now));
        slice.wall_ns += wall_ns;
        let cpu_ns = thread_cpu_ns();
        slice.busy_ns += cpu_ns.saturating_sub(std::mem::replace(&mut self.cpu_ns, cpu_ns));
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

/// The growth since the last successful reading. The first one only sets the start.
fn growth(last: &mut Option<u64>, now: Option<u64>) -> u64 {
    let Some(now) = now else { return 0 };
    last.replace(now).map_or(0, |last| now.saturating_sub(last))
}

/// Empty if it cannot be read: no counter is found in it.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Second field of schedstat: time runnable without running (kernel: Documentation/scheduler/sched-stats.rst).
fn run_queue_ns() -> Option<u64> {
    read("/proc/thread-self/schedstat").split_whitespace().nth(1)?.parse().ok()
}

/// Eighth value of the first line of /proc/stat, in ticks of 1/100 s (proc(5)).
fn steal_ns() -> Option<u64> {
    let ticks: u64 = read("/proc/stat").lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks * 10_000_000)
}

/// A value of /proc/net/snmp or netstat: the lines of a group come in pairs, names and values (proc(5)).
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(known, _)| *known == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_group_and_name() {
        let text = "Ip: InSegs\nIp: 1\nTcp: InSegs RetransSegs\nTcp: 7 12\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(12));
        assert_eq!(counter(text, "Tcp:", "OutSegs"), None);
        assert_eq!(counter("", "Tcp:", "RetransSegs"), None);
    }

    #[test]
    fn a_failed_reading_is_absent_and_not_zero() {
        // A counter since boot, which cannot be read at the start, and once later.
        let mut last = None;
        let readings = [None, Some(1_000), Some(1_010), None, Some(1_030)];
        assert_eq!(readings.map(|now| growth(&mut last, now)), [0, 0, 10, 0, 20]);
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
