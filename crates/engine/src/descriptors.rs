//! A file descriptor table for each worker, where one table has no room for a run's connections.
//!
//! The limit on open files (RLIMIT_NOFILE) bounds a *table*. The threads of a process share one, until a thread leaves with a copy of its own
//! ([`split_off`]). From then on a descriptor is a number that means one thing there and another elsewhere, which demands of all our crates:
//!
//! - **Nothing that holds a descriptor goes from thread to thread.** What workers share is memory; a file that several of them write to is opened
//!   for each write (`script::data::collection`). A thread that a worker starts shares that worker's table (`protocol::dns`).
//! - **A runtime that others wake exists before the first worker leaves.** To wake a runtime is to write to its eventfd, by its number in the
//!   table of whoever does it. So the coordinator makes the runtimes of all workers, and Ctrl-C is watched, before any worker begins: these numbers
//!   mean the same in every table, also where one worker wakes another (`exchange`). What a worker tells anybody else goes through channels of the
//!   standard library, which need no descriptor.
//! - **No copy keeps alive what its owner closes.** The other end of a socket or a pipe sees no end while a copy is open, so the worker closes its
//!   copies of those at once. It keeps what runtimes are made of (eventfds, epolls, timers) and pairs of nameless Unix sockets, by which tokio
//!   passes signals on: a signal may interrupt any thread, and any runtime may be the one that takes it up.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{BorrowedFd, FromRawFd, RawFd};
use std::os::unix::net::{SocketAddr, UnixStream};

use rustix::fs::FileType;

/// Whose file descriptors the workers open: one limit on open files for all, or one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescriptorTables {
    #[default]
    OneForAll,
    OneEach,
}

/// Standard input, output and error.
const STANDARD: RawFd = 2;

/// Gives the calling thread a file descriptor table of its own. Call it before the thread owns any descriptor besides its runtime's.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn split_off() -> io::Result<()> {
    own_table()?;
    let open: Vec<RawFd> =
        std::fs::read_dir("/proc/thread-self/fd")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open {
        if descriptor > STANDARD && is_of_others(descriptor) {
            // SAFETY: what owns this number lives on another thread and closes it in another table; this thread owns nothing of that kind yet.
            unsafe { libc::close(descriptor) };
        }
    }
    Ok(())
}

fn own_table() -> io::Result<()> {
    // The first is there since Linux 2.6.16, but containers often forbid it, as it can do more; the second needs Linux 5.9. It closes nothing:
    // no descriptor has that number.
    // SAFETY: both change this thread's table alone, and every descriptor keeps its number.
    let left = unsafe {
        libc::unshare(libc::CLONE_FILES) == 0
            || libc::syscall(libc::SYS_close_range, u32::MAX - 1, u32::MAX, libc::CLOSE_RANGE_UNSHARE) == 0
    };
    if left { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a copy of this could be missed by whoever waits for its end: sockets, pipes and files.
fn is_of_others(descriptor: RawFd) -> bool {
    // SAFETY: the number is only asked about. One that is no longer open has no type.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    match rustix::fs::fstat(borrowed).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Socket) => !passes_signals_on(descriptor),
        Ok(FileType::Fifo | FileType::RegularFile) => true,
        // The parts of a runtime have no file type.
        Ok(_) | Err(_) => false,
    }
}

/// A pair of Unix sockets has a name on neither end.
fn passes_signals_on(socket: RawFd) -> bool {
    // SAFETY: a number that is never closed through this. Any other kind of socket gives errors for addresses.
    let socket = ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(socket) });
    [socket.local_addr(), socket.peer_addr()].iter().all(|end| end.as_ref().is_ok_and(SocketAddr::is_unnamed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::thread;

    /// A thread with a table of its own. It lives until the test is over, and does what it is sent.
    fn apart<T: Send>(test: impl FnOnce(&SyncSender<Box<dyn FnOnce() + Send>>) -> T) -> T {
        let (tell, told): (SyncSender<Box<dyn FnOnce() + Send>>, Receiver<_>) = sync_channel(1);
        let (ready, is_ready) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                ready.send(split_off()).unwrap();
                told.iter().for_each(|work| work());
            });
            is_ready.recv().unwrap().unwrap();
            let result = test(&tell);
            drop(tell);
            result
        })
    }

    #[test]
    fn a_connection_that_its_owner_closes_ends_though_a_thread_has_split_off() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        apart(|_| {
            drop((far, writer));
            assert_eq!(near.read(&mut [0]).unwrap(), 0);
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        });
    }

    #[test]
    fn what_a_thread_opens_after_it_has_split_off_is_nobody_elses() {
        let (tell, told) = sync_channel(1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        apart(|thread| {
            let work = move || {
                let opened: Vec<File> = (0..200).map(|_| File::open("/dev/null").unwrap()).collect();
                tell.send(opened.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>()).unwrap();
                // Closed in this thread's table alone.
                drop(opened);
                tell.send(Vec::new()).unwrap();
            };
            thread.send(Box::new(work)).unwrap();
            let theirs = told.recv().unwrap();
            assert!(theirs.contains(&listener.as_raw_fd()), "a number that means something else here");
            told.recv().unwrap();
            TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        });
    }

    #[test]
    fn a_runtime_made_before_is_woken_from_both_sides() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let (ask, mut asked) = tokio::sync::mpsc::channel::<u32>(1);
        let (answer, answered) = sync_channel(1);
        apart(|thread| {
            let work = move || {
                runtime.block_on(async {
                    while let Some(number) = asked.recv().await {
                        answer.send(number + 1).unwrap();
                    }
                });
            };
            thread.send(Box::new(work)).unwrap();
            for number in 0..100 {
                ask.blocking_send(number).unwrap();
                assert_eq!(answered.recv().unwrap(), number + 1);
            }
            drop(ask);
        });
    }
}
