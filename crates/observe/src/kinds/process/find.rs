//! The table of processes, and the selection of the observed ones.

use std::collections::{HashMap, HashSet};

use super::entry::ProcessEntry;
use super::sockets::{TcpSocket, TcpState};
use super::system;

/// All processes at one moment.
pub(crate) struct ProcessTable {
    entries: HashMap<u32, ProcessEntry>,
}

impl ProcessTable {
    pub(crate) fn read() -> Self {
        Self { entries: system::entries() }
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
                || (name.len() > 15 && name.starts_with(&entry.name) && system::command_name(*pid).is_some_and(|command| command == name))
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
            system::descriptors(**pid, &mut inodes);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_of_descendants_count_once() {
        let entry = |parent| ProcessEntry { name: "x".to_owned(), parent, usage: None };
        let table = ProcessTable { entries: HashMap::from([(1, entry(0)), (2, entry(1)), (3, entry(2)), (4, entry(1)), (5, entry(0))]) };
        let mut pids = table.with_descendants(&[1, 2]);
        pids.sort_unstable();
        assert_eq!(pids, [1, 2, 3, 4]);
    }
}
