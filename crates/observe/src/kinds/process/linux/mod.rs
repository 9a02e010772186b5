//! Processes, from text files of /proc.

mod probe;
mod sockets;

use std::collections::{HashMap, HashSet};

use super::entry::{ProcessEntry, ProcessUsage, ThreadCpuTimes};
use super::sockets::TcpState;
use crate::kinds::cgroup::CpuQuota;
use crate::procfs::{pairs, read, ticks_per_second};
pub(crate) use probe::SocketProbe;
pub(crate) use sockets::{local_ports, tcp};

/// States of sockets that are reported although no socket is in them.
pub(crate) const STATES: [TcpState; 4] = [TcpState::Established, TcpState::CloseWait, TcpState::TimeWait, TcpState::Listen];

/// All processes.
pub(crate) fn entries() -> HashMap<u32, ProcessEntry> {
    numbered("/proc").filter_map(|pid| Some((pid, parse_stat(&read(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// The file name of the command that a process was started with.
pub(crate) fn command_name(pid: u32) -> Option<String> {
    let command = read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(command.split('\0').next()?.rsplit('/').next()?.to_owned())
}

/// The limit on its CPU time in cores, and how long that held it back in seconds.
pub(crate) fn quota(pid: u32) -> Option<(Option<f64>, Option<f64>)> {
    CpuQuota::of(pid).map(|quota| (quota.cores, quota.throttled))
}

/// Bytes read from disk, and written to it.
pub(crate) fn disk_bytes(pid: u32) -> Option<(f64, f64)> {
    let text = read(format!("/proc/{pid}/io")).ok()?;
    let io = pairs(&text);
    Some((*io.get("read_bytes")? as f64, *io.get("write_bytes")? as f64))
}

/// `/proc/PID/task/TID/schedstat`: ns on a core, ns waiting for one, slices.
pub(crate) fn threads(pid: u32) -> impl Iterator<Item = ThreadCpuTimes> {
    numbered(format!("/proc/{pid}/task")).filter_map(move |tid| {
        let text = read(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(used_ns)), Some(Ok(waited_ns))) = (words.next(), words.next()) else { return None };
        Some(ThreadCpuTimes { id: u64::from(tid), used_ns, waited_ns })
    })
}

/// The thread's name, as the kernel has it. Each thread has its entry under /proc, which no listing shows.
pub(crate) fn thread_name(_pid: u32, tid: u64) -> Option<String> {
    Some(read(format!("/proc/{tid}/comm")).ok()?.trim().to_owned())
}

/// Time that the threads of a process waited for a core, where the kernel counts it for the process alone.
pub(crate) fn core_wait_seconds(_pid: u32) -> Option<f64> {
    None
}

/// proc_pid_stat(5). The name may contain spaces and brackets, so the last bracket counts.
fn parse_stat(text: &str) -> Option<ProcessEntry> {
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    // The first of `fields` is field 3 of the manual page.
    let number = |manual: usize| fields.get(manual - 3).and_then(|word| word.parse::<f64>().ok());
    let usage = ProcessUsage {
        user_seconds: number(14)? / ticks_per_second(),
        system_seconds: number(15)? / ticks_per_second(),
        threads: number(20)?,
        started: number(22)? as u64,
    };
    Some(ProcessEntry { name: text.get(open + 1..close)?.to_owned(), parent: number(4)? as u32, usage: Some(usage) })
}

/// Entries of a folder whose names are numbers.
pub(crate) fn numbered(folder: impl AsRef<std::path::Path>) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Descriptors that are read individually per process. Without this limit, a server with ten thousand connections would be too expensive to observe. Its
/// listening sockets are among the first descriptors.
const LINKS_MAX: usize = 1_024;

/// How many descriptors a process has open. Adds the inodes of its sockets among the first [`LINKS_MAX`]. `None` when access is denied.
pub(crate) fn descriptors(pid: u32, inodes: &mut HashSet<u64>) -> Option<f64> {
    let mut open = 0.0;
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
        open += 1.0;
        if open > LINKS_MAX as f64 {
            continue;
        }
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let inode: Option<u64> = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        inodes.extend(inode);
    }
    Some(open)
}

/// Private and shared resident memory, in bytes (proc_pid_statm(5)).
pub(crate) fn memory(pid: u32) -> Option<(f64, f64)> {
    let text = read(format!("/proc/{pid}/statm")).ok()?;
    let mut words = text.split_whitespace().skip(1);
    let resident: f64 = words.next()?.parse().ok()?;
    let shared: f64 = words.next()?.parse().ok()?;
    let page = rustix::param::page_size() as f64;
    Some(((resident - shared).max(0.0) * page, shared * page))
}

/// The soft limit on descriptors.
pub(crate) fn descriptors_limit(pid: u32) -> Option<f64> {
    let text = read(format!("/proc/{pid}/limits")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

/// Cores that a process may use: those of its mask that are online (proc_pid_status(5)).
pub(crate) fn cores_allowed(pid: u32) -> Option<f64> {
    let text = read(format!("/proc/{pid}/status")).ok()?;
    let allowed = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let online = read("/sys/devices/system/cpu/online").ok()?;
    let online: HashSet<u32> = core_list(&online).collect();
    let cores = core_list(allowed).filter(|core| online.contains(core)).count();
    (cores > 0).then_some(cores as f64)
}

/// Whether a process handles a signal (proc_pid_status(5)). Most unhandled signals terminate the process.
pub(crate) fn catches(pid: u32, signal: rustix::process::Signal) -> bool {
    let status = read(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
    let mask = mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
}

/// File name of the program that a process runs; `None` where access is denied.
pub(crate) fn program(pid: u32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.file_name()?.to_string_lossy().trim_end_matches(" (deleted)").to_owned())
}

/// `0-3,8`.
fn core_list(text: &str) -> impl Iterator<Item = u32> {
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let text = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 0 0 0 150 25 0 0 20 0 9 0 12345 1000000 321 18446744073709551615 1";
        let entry = parse_stat(text).unwrap();
        let usage = entry.usage.unwrap();
        assert_eq!((entry.name.as_str(), entry.parent), ("a) b (c", 7));
        assert_eq!((usage.user_seconds * ticks_per_second(), usage.system_seconds * ticks_per_second()), (150.0, 25.0));
        assert_eq!((usage.threads, usage.started), (9.0, 12345));
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn a_list_of_cores_is_ranges_and_single_ones() {
        assert_eq!(core_list("\t0-3,8\n").collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(core_list("").count(), 0);
    }
}
