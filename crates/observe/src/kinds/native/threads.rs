//! The sampled threads: those of a service's processes, listed again at each reading.

use std::collections::{HashMap, HashSet};
use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::error::NativeError;
use super::event::{OpenError, ThreadEvent, ThreadSampling};
use crate::kinds::process::system::numbered;
use crate::kinds::process::which::NoProcess;
use crate::procfs::read;

/// Maximum number of sampled threads; each costs a descriptor and a ring.
pub(super) const THREADS_MAX: usize = 256;

pub(super) struct SampledThreads {
    sampling: ThreadSampling,
    events: HashMap<u32, ThreadEvent>,
    /// Threads that were found at the last reading and are not sampled.
    pub(super) left_out: usize,
    /// The system's resources are exhausted: no further thread is tried until one ends.
    is_full: bool,
}

impl SampledThreads {
    pub(super) fn new(sampling: ThreadSampling) -> Self {
        Self { sampling, events: HashMap::new(), left_out: 0, is_full: false }
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.is_full = false;
    }

    /// Threads being sampled.
    pub(super) fn count(&self) -> usize {
        self.events.len()
    }

    /// Stops sampling threads of processes that no longer match, and starts sampling new threads.
    ///
    /// # Errors
    /// When no thread can be sampled.
    pub(super) fn find(&mut self, processes: &[u32]) -> Result<(), NativeError> {
        let threads = processes.iter().flat_map(|pid| numbered(format!("/proc/{pid}/task")).map(|thread| (*pid, thread)));
        let threads: Vec<(u32, u32)> = threads.collect();
        let present: HashSet<u32> = threads.iter().map(|(_, thread)| *thread).collect();
        self.events.retain(|thread, _| present.contains(thread));
        self.left_out = 0;
        let mut problem = None;
        for (pid, thread) in threads {
            if self.events.contains_key(&thread) {
                continue;
            }
            if self.events.len() >= THREADS_MAX || self.is_full {
                self.left_out += 1;
                continue;
            }
            match self.open(pid, thread) {
                Ok(Some(event)) => drop(self.events.insert(thread, event)),
                Ok(None) => {}
                Err(why) => {
                    self.left_out += 1;
                    problem = Some(why);
                }
            }
        }
        if !self.events.is_empty() {
            return Ok(());
        }
        Err(problem.unwrap_or_else(|| NativeError::Ended(processes.first().copied().unwrap_or_default())))
    }

    /// `None` if the thread has ended meanwhile.
    fn open(&mut self, pid: u32, thread: u32) -> Result<Option<ThreadEvent>, NativeError> {
        let mut opened = ThreadEvent::open(thread, self.sampling);
        if self.sampling.has_kernel && matches!(&opened, Err(OpenError::Event(problem)) if is_refusal(problem)) {
            let without = ThreadSampling { has_kernel: false, ..self.sampling };
            opened = ThreadEvent::open(thread, without);
            if opened.is_ok() {
                self.sampling = without;
            }
        }
        match opened {
            Ok(event) => Ok(Some(event)),
            Err(OpenError::Event(problem)) if is(&problem, Errno::SRCH) => Ok(None),
            Err(OpenError::Event(problem)) if is_refusal(&problem) => Err(refusal(pid, problem)),
            Err(OpenError::Event(problem)) if !is(&problem, Errno::MFILE) && !is(&problem, Errno::NFILE) => {
                Err(NativeError::Unknown(problem))
            }
            Err(OpenError::Event(problem) | OpenError::Memory(problem)) => {
                self.is_full = true;
                Err(NativeError::NoRoom(problem))
            }
        }
    }

    /// Passes on the content of each thread's ring, and closes the events of ended threads. A ring with invalid pointers counts as one loss.
    pub(super) fn take(&mut self, mut read: impl FnMut(&[u8])) -> u64 {
        let ended = self.ended();
        let mut bytes = Vec::new();
        let mut losses = 0;
        for event in self.events.values_mut() {
            losses += u64::from(!event.take(&mut bytes));
            read(&bytes);
        }
        for thread in ended {
            self.events.remove(&thread);
            self.is_full = false;
        }
        losses
    }

    /// The kernel signals a hang-up on the event of an ended thread, whose number may already be reused.
    fn ended(&self) -> Vec<u32> {
        let (threads, mut descriptors): (Vec<u32>, Vec<PollFd<'_>>) =
            self.events.iter().map(|(thread, event)| (*thread, PollFd::new(event, PollFlags::empty()))).unzip();
        if poll(&mut descriptors, Some(&rustix::time::Timespec::default())).is_err() {
            return Vec::new();
        }
        let hung_up = |descriptor: &PollFd<'_>| descriptor.revents().contains(PollFlags::HUP);
        threads.into_iter().zip(&descriptors).filter(|(_, descriptor)| hung_up(descriptor)).map(|(thread, _)| thread).collect()
    }
}

fn is(problem: &io::Error, errno: Errno) -> bool {
    problem.raw_os_error() == Some(errno.raw_os_error())
}

fn is_refusal(problem: &io::Error) -> bool {
    is(problem, Errno::ACCESS) || is(problem, Errno::PERM)
}

/// The missing privilege.
fn refusal(pid: u32, problem: io::Error) -> NativeError {
    let user = rustix::process::geteuid();
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid").ok().and_then(|text| text.trim().parse::<i64>().ok());
    match paranoid {
        Some(level) if level > 2 && !user.is_root() => return NativeError::Paranoid(level),
        _ => {}
    }
    let owner = rustix::fs::stat(format!("/proc/{pid}")).ok().map(|found| found.st_uid);
    if !user.is_root() && owner.is_some_and(|owner| owner != user.as_raw()) {
        return NoProcess::Rights(pid).into();
    }
    NativeError::Refused { pid, problem }
}
