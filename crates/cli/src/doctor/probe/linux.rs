//! From text files of /proc and /sys.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

use super::super::readings::MachineReadings;
use super::ticks::Ticks;

const CGROUPS: &str = "/sys/fs/cgroup";
/// CAP_SYS_PTRACE (linux/capability.h).
const CAP_SYS_PTRACE: u32 = 19;

/// What both systems have is left to the caller.
pub(super) fn read_machine() -> MachineReadings {
    let own_group = text("/proc/self/cgroup");
    let (cpu_limit, memory_limit) = own_group.as_deref().map_or((None, None), group_limits);
    MachineReadings {
        ports: pair("/proc/sys/net/ipv4/ip_local_port_range")
            .and_then(|(first, last)| Some((first.try_into().ok()?, last.try_into().ok()?))),
        port_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        tracked: number("/proc/sys/net/netfilter/nf_conntrack_count").zip(number("/proc/sys/net/netfilter/nf_conntrack_max")),
        reads_limits: own_group.is_some() && Path::new(CGROUPS).is_dir(),
        cpu_limit,
        memory: text("/proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:").map(str::to_owned))?;
            Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
        }),
        memory_limit,
        clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governors: governors(),
        reads_others: text("/proc/self/status").map(|status| getuid().is_root() || has_capability(&status, CAP_SYS_PTRACE)),
        perf_paranoid: number("/proc/sys/kernel/perf_event_paranoid"),
        ..MachineReadings::default()
    }
}

/// The trimmed contents of a file. `None` if it cannot be read.
fn text(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    text(path)?.parse().ok()
}

fn pair(path: &str) -> Option<(u64, u64)> {
    let text = text(path)?;
    let mut parts = text.split_whitespace().map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// The tightest limit among the control group of this process and its ancestors: cores, and available bytes. Supports version 2, and version 1 with one
/// folder per controller. `own`: the text of /proc/self/cgroup.
fn group_limits(own: &str) -> (Option<f64>, Option<u64>) {
    let below = |mount: &str, path: Option<&str>| {
        let root = Path::new(CGROUPS).join(mount);
        let group = root.join(path.unwrap_or_default().trim_start_matches('/'));
        group.ancestors().take_while(|group| group.starts_with(&root)).map(Path::to_path_buf).collect::<Vec<_>>()
    };
    let unified = own.lines().find_map(|line| line.strip_prefix("0::"));
    let quotas = below("", unified).into_iter().filter_map(|group| cores_of_quota(&text(group.join("cpu.max"))?));
    let quotas = quotas.chain(below("cpu", controller(own, "cpu")).into_iter().filter_map(|group| {
        // A negative quota means no limit.
        let quota = number::<f64>(group.join("cpu.cfs_quota_us")).filter(|quota| *quota > 0.0)?;
        Some(quota / number::<f64>(group.join("cpu.cfs_period_us"))?)
    }));
    let left = |group: PathBuf, most: &str, now: &str| -> Option<u64> {
        Some(limited(number(group.join(most))?)?.saturating_sub(number(group.join(now))?))
    };
    let memory = below("", unified).into_iter().filter_map(|group| left(group, "memory.max", "memory.current"));
    let first = below("memory", controller(own, "memory")).into_iter();
    let memory = memory.chain(first.filter_map(|group| left(group, "memory.limit_in_bytes", "memory.usage_in_bytes")));
    (quotas.reduce(f64::min), memory.min())
}

/// Version 1 writes the largest number of whole pages if there is no limit (memory.limit_in_bytes). No machine has that much memory.
fn limited(bytes: u64) -> Option<u64> {
    (bytes < 1 << 60).then_some(bytes)
}

/// The path under a version 1 controller, from `/proc/PID/cgroup`.
fn controller<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|controller| controller == name).then_some(path)
    })
}

/// `150000 100000`, or `max 100000`.
fn cores_of_quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

fn governors() -> Vec<String> {
    let cores = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let all: BTreeSet<String> = cores.filter_map(|core| text(core.path().join("cpufreq/scaling_governor"))).collect();
    all.into_iter().collect()
}

/// From `/proc/stat`.
pub(super) fn ticks() -> Option<Ticks> {
    Ticks::of(&text("/proc/stat")?)
}

impl Ticks {
    fn of(stat: &str) -> Option<Self> {
        // Fields: user nice system idle iowait irq softirq steal. `user` includes guest time.
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|ticks| ticks.parse().ok()).collect();
        (ticks.len() == 8).then(|| Self { all: ticks.iter().sum(), idle: ticks[3] + ticks[4], stolen: ticks[7] })
    }
}

/// An effective capability, from `/proc/PID/status`.
fn has_capability(status: &str, capability: u32) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set >> capability & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_parsed() {
        assert_eq!(cores_of_quota("150000 100000"), Some(1.5));
        assert_eq!(cores_of_quota("max 100000"), None);
        assert_eq!(controller("4:memory:/m\n3:cpu,cpuacct:/a/b\n0::/x\n", "cpu"), Some("/a/b"));
        assert_eq!(controller("0::/x\n", "cpu"), None);
        assert_eq!((limited(9_223_372_036_854_771_712), limited(1 << 40)), (None, Some(1 << 40)));
        assert!(has_capability("Name:\tx\nCapEff:\t0000000000080000\n", CAP_SYS_PTRACE));
        assert!(!has_capability("CapEff:\t00000000fff7ffff\n", CAP_SYS_PTRACE));
    }

    #[test]
    fn shares_come_from_the_difference_of_two_readings() {
        let at = |line: &str| Ticks::of(&format!("cpu  {line}\ncpu0 1 2 3\n")).unwrap();
        let (stolen, busy) = at("20 0 20 140 20 0 0 100 7 7").since(&at("10 0 10 100 10 0 0 70 7 7")).unwrap();
        // 100 ticks: 20 used, 50 idle, 30 stolen.
        assert!((stolen - 0.3).abs() < 1e-9 && (busy - 0.2).abs() < 1e-9, "{stolen} {busy}");
        assert!(at("1 0 0 0 0 0 0 0").since(&at("1 0 0 0 0 0 0 0")).is_none());
    }
}
