//! The kernel's counters, from text files of /proc.

use super::cgroup::CpuLimits;
use super::reading::MachineReading;

/// Reads the counters of the whole machine.
#[derive(Debug)]
pub(super) struct MachineCounters {
    limits: CpuLimits,
}

impl MachineCounters {
    pub(super) fn find() -> Self {
        Self { limits: CpuLimits::find() }
    }

    pub(super) fn read(&self) -> MachineReading {
        MachineReading {
            steal_ns: steal_ns(),
            throttled_ns: self.limits.throttled_ns(),
            retransmits: counter(&read("/proc/net/snmp"), "Tcp:", "RetransSegs"),
            syn_retransmits: counter(&read("/proc/net/netstat"), "TcpExt:", "TCPSynRetrans"),
        }
    }
}

/// Empty if it cannot be read: no counter is found in it.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Second field of schedstat: time runnable without running (kernel: Documentation/scheduler/sched-stats.rst).
pub(super) fn run_queue_ns() -> Option<u64> {
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
    fn the_kernels_own_files_have_the_counters() {
        let names = |path: &str, group: &str| read(path).lines().find(|line| line.starts_with(group)).unwrap_or_default().to_owned();
        assert!(names("/proc/net/snmp", "Tcp:").contains(" RetransSegs"));
        assert!(names("/proc/net/netstat", "TcpExt:").contains(" TCPSynRetrans"));
    }
}
