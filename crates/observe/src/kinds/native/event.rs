//! One thread's perf event: the kernel samples its stack as it uses CPU time, and writes the samples into a ring buffer that both sides map.
//!
//! The only `unsafe` code of this observer. See perf_event_open(2). The thread itself is not changed: only the kernel reads its stack. The event ends with
//! its descriptor, so it ends however this process ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_FLAG_FD_CLOEXEC, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_TID, PERF_TYPE_SOFTWARE, perf_event_attr,
    perf_event_mmap_page,
};
use perf_event_open_sys::perf_event_open;

use super::ring::spans;

/// Frames of one stack; outer frames add no information.
const FRAMES_MAX: u16 = 64;

/// How threads are sampled.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadSampling {
    /// CPU time between two samples of a thread. Nanoseconds.
    pub(super) period_ns: u64,
    /// Also samples while the kernel works for the thread, which needs privileges. Kernel functions are never resolved.
    pub(super) has_kernel: bool,
    /// Pages of a ring; a power of two.
    pub(super) pages: usize,
}

/// A thread that is being sampled. Dropping the value stops sampling.
pub(super) struct ThreadEvent {
    descriptor: OwnedFd,
    /// The kernel's page of pointers, followed by the ring.
    map: MmapRaw,
    page: usize,
}

/// Which step failed.
pub(super) enum OpenError {
    Event(io::Error),
    Memory(io::Error),
}

impl ThreadEvent {
    /// # Errors
    /// The kernel's error: no privileges, no such thread, no resources.
    pub(super) fn open(thread: u32, sampling: ThreadSampling) -> Result<Self, OpenError> {
        let mut attributes = perf_event_attr {
            type_: PERF_TYPE_SOFTWARE,
            size: size_of::<perf_event_attr>() as u32,
            config: u64::from(PERF_COUNT_SW_CPU_CLOCK),
            sample_type: u64::from(PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN),
            sample_max_stack: FRAMES_MAX,
            ..perf_event_attr::default()
        };
        attributes.__bindgen_anon_1.sample_period = sampling.period_ns;
        attributes.set_exclude_kernel(u64::from(!sampling.has_kernel));
        attributes.set_exclude_hv(1);
        attributes.set_exclude_callchain_kernel(1);
        let thread = i32::try_from(thread).map_err(|_| OpenError::Event(io::ErrorKind::NotFound.into()))?;
        // SAFETY: the attributes live until the call returns, and the call does not write to this process's memory.
        let number = unsafe { perf_event_open(&raw mut attributes, thread, -1, -1, u64::from(PERF_FLAG_FD_CLOEXEC)) };
        if number < 0 {
            return Err(OpenError::Event(io::Error::last_os_error()));
        }
        // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        let page = rustix::param::page_size();
        let mut options = MmapOptions::new();
        options.len(page * (1 + sampling.pages));
        let map = options.map_raw(descriptor.as_raw_fd()).map_err(OpenError::Memory)?;
        Ok(Self { descriptor, map, page })
    }

    /// Takes the data that the kernel has written since the last call. Returns `false` and skips the data if the pointers are invalid.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        let pointers = self.map.as_mut_ptr().cast::<perf_event_mmap_page>();
        // SAFETY: the map begins with this page, is aligned to it, and lives as long as `self`. The kernel writes the head while we read it, and we alone
        // write the tail: both are only used as atomics here.
        let (head, tail) =
            unsafe { (AtomicU64::from_ptr(&raw mut (*pointers).data_head), AtomicU64::from_ptr(&raw mut (*pointers).data_tail)) };
        let written = head.load(Ordering::Acquire);
        let ring = self.map.len() - self.page;
        let found = spans(tail.load(Ordering::Relaxed), written, ring);
        for span in found.iter().flatten() {
            // SAFETY: a span lies within the ring, which begins behind the first page. The kernel does not write between tail and head until the tail moves.
            let part = unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(self.page + span.start), span.len()) };
            bytes.extend_from_slice(part);
        }
        tail.store(written, Ordering::Release);
        found.is_some()
    }
}

impl AsFd for ThreadEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
