//! The table of a thread: unshare(2), and close_range(2) with CLOSE_RANGE_UNSHARE.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{BorrowedFd, FromRawFd, RawFd};
use std::os::unix::net::{SocketAddr, UnixStream};

use rustix::fs::FileType;

/// Standard input, output and error.
const STANDARD_STREAM_LAST: RawFd = 2;

pub(super) fn split_off() -> io::Result<()> {
    own_table()?;
    let open: Vec<RawFd> =
        std::fs::read_dir("/proc/thread-self/fd")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open {
        if descriptor > STANDARD_STREAM_LAST && is_of_others(descriptor) {
            // SAFETY: the owner of this number lives on another thread and closes it in another table. This thread owns nothing of that kind yet.
            unsafe { libc::close(descriptor) };
        }
    }
    Ok(())
}

fn own_table() -> io::Result<()> {
    // The first call exists since Linux 2.6.16, but containers often forbid it, as it can do more. The second needs Linux 5.9. It closes nothing: no
    // descriptor has that number.
    // SAFETY: both change only this thread's table, and every descriptor keeps its number.
    let left = unsafe {
        libc::unshare(libc::CLONE_FILES) == 0
            || libc::syscall(libc::SYS_close_range, u32::MAX - 1, u32::MAX, libc::CLOSE_RANGE_UNSHARE) == 0
    };
    if left { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a copy of this descriptor could delay the end that its peer waits for. True for sockets, pipes and files.
fn is_of_others(descriptor: RawFd) -> bool {
    // SAFETY: the number is only queried. A number that is no longer open has no type.
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
    // SAFETY: the number is never closed through this value. Any other kind of socket returns errors for its addresses.
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

    /// A thread with a separate table. It lives until the test is over, and runs the closures it receives.
    fn apart<T: Send>(test: impl FnOnce(&SyncSender<Box<dyn FnOnce() + Send>>) -> T) -> T {
        let (sender, receiver): (SyncSender<Box<dyn FnOnce() + Send>>, Receiver<_>) = sync_channel(1);
        let (ready, is_ready) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                ready.send(split_off()).unwrap();
                receiver.iter().for_each(|work| work());
            });
            is_ready.recv().unwrap().unwrap();
            let result = test(&sender);
            drop(sender);
            result
        })
    }

    #[test]
    fn a_closed_connection_ends_although_a_thread_has_split_off() {
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
    fn descriptors_opened_after_the_split_are_private_to_the_thread() {
        let (sender, receiver) = sync_channel(1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        apart(|thread| {
            let work = move || {
                let opened: Vec<File> = (0..200).map(|_| File::open("/dev/null").unwrap()).collect();
                sender.send(opened.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>()).unwrap();
                // Closed only in this thread's table.
                drop(opened);
                sender.send(Vec::new()).unwrap();
            };
            thread.send(Box::new(work)).unwrap();
            let theirs = receiver.recv().unwrap();
            assert!(theirs.contains(&listener.as_raw_fd()), "the same number refers to something else here");
            receiver.recv().unwrap();
            TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        });
    }

    #[test]
    fn a_runtime_created_before_the_split_is_woken_from_both_sides() {
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
