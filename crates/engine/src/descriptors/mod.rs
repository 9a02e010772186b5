//! A separate file descriptor table for each worker, for runs whose connections do not fit into one table.
//!
//! The limit on open files (RLIMIT_NOFILE) bounds a *table*. The threads of a process share one table, until a thread leaves with a copy
//! ([`split_off`]). From then on, the same descriptor number refers to different files in different tables. All our crates must therefore follow
//! these rules:
//!
//! - **No descriptor passes from thread to thread.** Workers share memory only. A file that several workers write to is opened for each write
//!   (`script::data::collection`). A thread that a worker starts shares that worker's table (`protocol::dns`).
//! - **A runtime that other threads wake exists before the first worker splits off.** Waking a runtime means writing to its eventfd, by its number in
//!   the waker's table. The coordinator therefore creates the runtimes of all workers, and installs the Ctrl-C handler, before any worker begins.
//!   These numbers then mean the same in every table, also when one worker wakes another (`exchange`). Workers report to other threads through
//!   channels of the standard library, which need no descriptor.
//! - **No copy keeps alive what its owner closes.** The peer of a socket or a pipe sees no end while a copy is open. The worker therefore closes its
//!   copies of those at once. It keeps the parts of runtimes (eventfds, epolls, timers) and pairs of unnamed Unix sockets. Through these, tokio
//!   passes signals on: a signal may interrupt any thread, and any runtime may handle it.

use std::io;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as system;

/// Who shares a limit on open files: all workers together, or each worker alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescriptorTables {
    #[default]
    OneForAll,
    OneEach,
}

/// Moves the calling thread to a separate file descriptor table. Call it before the thread owns any descriptor other than its runtime's.
///
/// # Errors
/// The kernel refuses, or has one table for all threads (macOS).
pub(crate) fn split_off() -> io::Result<()> {
    system::split_off()
}
