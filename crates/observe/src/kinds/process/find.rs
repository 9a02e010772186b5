//! The table of processes, and the selection of the observed ones.

use std::collections::{HashMap, HashSet};

use super::sockets::{TcpSocket, TcpState};
use crate::procfs::read;

/// The used fields of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProcessEntry {
    name: String,
    parent: u32,
    pub(crate) user_ticks: f64,
    pub(crate) system_ticks: f64,
    pub(crate) threads: f64,
    /// Ticks after boot.
    pub(crate) started: u64,
}

/// All processes at one moment.
pub(crate) struct ProcessTable {
    entries: HashMap<u32, ProcessEntry>,
}

impl ProcessTable {
    pub(crate) fn read() -> Self {
        let entries = numbered("/proc").filter_map(|pid| Some((pid, parse_stat(&read(format!("/proc/{pid}/stat")).ok()?)?)));
        Self { entries: entries.collect() }
    }

    pub(crate) fn entry(&self, pid: u32) -> Option<&ProcessEntry> {
        self.entries.get(&pid)
    }

    pub(crate) fn with_pid(&self, pid: u32) -> Vec<u32> {
        self.entries.contains_key(&pid).then_some(pid).into_iter().collect()
    }

    /// By the kernel's name (cut at 15 characters) or the file name of the command.
    pub(crate) fn with_name(&self, name: &str) -> Vec<u32> {
        let own = std::process::id();
        let called = |pid: &u32, entry: &ProcessEntry| {
            entry.name == name
                || (name.len() > 15 && name.starts_with(&entry.name) && {
                    let command = read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    command.split('\0').next().is_some_and(|path| path.rsplit('/').next() == Some(name))
                })
        };
        self.entries.iter().filter(|(pid, entry)| **pid != own && called(pid, entry)).map(|(pid, _)| *pid).collect()
    }

    pub(crate) fn listening_on(&self, port: u16, sockets: &[TcpSocket]) -> Vec<u32> {
        let wanted: HashSet<u64> = sockets
            .iter()
            .filter(|socket| socket.state == TcpState::Listen && socket.local_port == port)
            .map(|socket| socket.inode)
            .collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let holds = |pid: &&u32| {
            let mut inodes = HashSet::new();
            descriptors(**pid, &mut inodes);
            !inodes.is_disjoint(&wanted)
        };
        self.entries.keys().filter(holds).copied().collect()
    }

    /// The given processes and everything that descends from them, each once.
    pub(crate) fn with_descendants(&self, roots: &[u32]) -> Vec<u32> {
        let mut children = HashMap::<u32, Vec<u32>>::new();
        for (pid, entry) in &self.entries {
            children.entry(entry.parent).or_default().push(*pid);
        }
        let mut seen = HashSet::new();
        let mut open = roots.to_vec();
        while let Some(pid) = open.pop() {
            if seen.insert(pid) {
                open.extend(children.get(&pid).into_iter().flatten());
            }
        }
        seen.into_iter().collect()
    }
}

/// proc_pid_stat(5). The name may contain spaces and brackets, so the last bracket counts.
fn parse_stat(text: &str) -> Option<ProcessEntry> {
    let open = text.find('(')?;
    let close = text.rfind(')')?;
    let fields: Vec<&str> = text.get(close + 1..)?.split_whitespace().collect();
    // The first of `fields` is field 3 of the manual page.
    let number = |manual: usize| fields.get(manual - 3).and_then(|word| word.parse::<f64>().ok());
    Some(ProcessEntry {
        name: text.get(open + 1..close)?.to_owned(),
        parent: number(4)? as u32,
        user_ticks: number(14)?,
        system_ticks: number(15)?,
        threads: number(20)?,
        started: number(22)? as u64,
    })
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

/// Private and shared resident memory, in pages (proc_pid_statm(5)).
pub(crate) fn memory_pages(pid: u32) -> Option<(f64, f64)> {
    let text = read(format!("/proc/{pid}/statm")).ok()?;
    let mut words = text.split_whitespace().skip(1);
    let resident: f64 = words.next()?.parse().ok()?;
    let shared: f64 = words.next()?.parse().ok()?;
    Some(((resident - shared).max(0.0), shared))
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
        assert_eq!((entry.name.as_str(), entry.parent, entry.user_ticks, entry.system_ticks), ("a) b (c", 7, 150.0, 25.0));
        assert_eq!((entry.threads, entry.started), (9.0, 12345));
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn a_list_of_cores_is_ranges_and_single_ones() {
        assert_eq!(core_list("\t0-3,8\n").collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(core_list("").count(), 0);
    }

    #[test]
    fn descendants_of_descendants_count_once() {
        let entry = |parent| ProcessEntry { name: "x".to_owned(), parent, user_ticks: 0.0, system_ticks: 0.0, threads: 1.0, started: 0 };
        let table = ProcessTable { entries: HashMap::from([(1, entry(0)), (2, entry(1)), (3, entry(2)), (4, entry(1)), (5, entry(0))]) };
        let mut pids = table.with_descendants(&[1, 2]);
        pids.sort_unstable();
        assert_eq!(pids, [1, 2, 3, 4]);
    }
}
