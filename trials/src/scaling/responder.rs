//! A target that costs almost nothing and shares no core with another worker's: one thread on each core answers the connections of the worker that
//! runs there.
//!
//! A connection moves to the other thread when the kernel reports that its packets are processed on the other core (SO_INCOMING_CPU). Each thread
//! counts requests at its sockets, in a separate cache line. Deliberately absent: HTTP. Each read is one request, since no generator here
//! pipelines.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use checkout::machine::{GENERATOR_CORE, SERVER_CORE};

pub(super) const CORES: [usize; 2] = [GENERATOR_CORE, SERVER_CORE];
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"id\":4711}";
/// Requests of a thread between two checks of a connection's core.
const CHECK_EVERY: u64 = 64;
/// How soon a thread without work notices the end. Milliseconds.
const IDLE_MS: i32 = 50;

#[repr(align(128))]
#[derive(Default)]
struct RequestCount(AtomicU64);

struct ResponderState {
    /// One epoll instance for each core.
    polls: [RawFd; 2],
    counts: [RequestCount; 2],
    ended: AtomicBool,
}

/// Two threads that answer. Dropping it ends them.
pub(super) struct Responders {
    pub(super) url: String,
    shared: Arc<ResponderState>,
    threads: Vec<JoinHandle<()>>,
}

impl Responders {
    pub(super) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        let shared =
            Arc::new(ResponderState { polls: [new_poll()?, new_poll()?], counts: Default::default(), ended: AtomicBool::new(false) });
        watch(shared.polls[0], listener.as_raw_fd())?;
        let mut listener = Some(listener);
        let threads = (0..CORES.len())
            .map(|place| {
                let (shared, listener) = (Arc::clone(&shared), listener.take());
                thread::spawn(move || {
                    if let Err(error) = pin(0, CORES[place]).and_then(|()| answer(&shared, place, listener.as_ref())) {
                        eprintln!("a responder ended: {error}");
                    }
                })
            })
            .collect();
        Ok(Self { url, shared, threads })
    }

    /// Requests so far, on each core.
    pub(super) fn counts(&self) -> [u64; 2] {
        [0, 1].map(|place| self.shared.counts[place].0.load(Ordering::Relaxed))
    }
}

impl Drop for Responders {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has reported its error, if any.
            let _ended = thread.join();
        }
        self.shared.polls.into_iter().for_each(close);
    }
}

fn answer(shared: &ResponderState, place: usize, listener: Option<&TcpListener>) -> Result<()> {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    let (mut buffer, mut count) = ([0_u8; 4096], 0_u64);
    while !shared.ended.load(Ordering::Relaxed) {
        // SAFETY: `events` is valid for writes of its length.
        let ready = unsafe { libc::epoll_wait(shared.polls[place], events.as_mut_ptr(), 64, IDLE_MS) };
        for event in events.iter().take(usize::try_from(ready).unwrap_or(0)) {
            let socket = event.u64 as RawFd;
            if let Some(listener) = listener.filter(|listener| listener.as_raw_fd() == socket) {
                accept(listener, shared.polls[place])?;
                continue;
            }
            // SAFETY: `buffer` and `RESPONSE` are valid for their lengths; the socket is open until it is closed below.
            let read = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            if read <= 0 {
                if read == 0 || Error::last_os_error().kind() != std::io::ErrorKind::WouldBlock {
                    close(socket);
                }
                continue;
            }
            // Counted first: nothing is lost if the client stops reading.
            count += 1;
            shared.counts[place].0.store(count, Ordering::Relaxed);
            // SAFETY: as above. A client that is gone shows at the next read.
            unsafe { libc::send(socket, RESPONSE.as_ptr().cast(), RESPONSE.len(), libc::MSG_NOSIGNAL) };
            if count.is_multiple_of(CHECK_EVERY) {
                follow(shared, place, socket)?;
            }
        }
    }
    Ok(())
}

fn accept(listener: &TcpListener, poll: RawFd) -> Result<()> {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        watch(poll, std::os::fd::IntoRawFd::into_raw_fd(stream))?;
    }
    Ok(())
}

/// Hands a connection to the other thread if its client runs on the other core.
fn follow(shared: &ResponderState, place: usize, socket: RawFd) -> Result<()> {
    let (mut core, mut size) = (-1_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: both pointers are valid for writes of the size given.
    unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_INCOMING_CPU, (&raw mut core).cast(), &raw mut size) };
    let Some(other) = CORES.iter().position(|known| i32::try_from(*known).is_ok_and(|known| known == core)).filter(|other| *other != place)
    else {
        return Ok(());
    };
    // SAFETY: an event may be null for this operation.
    unsafe { libc::epoll_ctl(shared.polls[place], libc::EPOLL_CTL_DEL, socket, std::ptr::null_mut()) };
    watch(shared.polls[other], socket)
}

fn new_poll() -> Result<RawFd> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

fn watch(poll: RawFd, socket: RawFd) -> Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: socket as u64 };
    // SAFETY: the event is valid for reads; the kernel copies it.
    checked(unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, socket, &raw mut event) }).map(drop)
}

fn close(socket: RawFd) {
    // SAFETY: each socket is closed once, by the thread that has it.
    unsafe { libc::close(socket) };
}

/// Binds a thread to a core. 0: the calling one.
pub(super) fn pin(thread: i32, core: usize) -> Result<()> {
    // SAFETY: the set is plain memory that is filled before use, and the call only reads it.
    let result = unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const cores)
    };
    checked(result).map(drop)
}

fn checked(result: i32) -> Result<i32> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_connection_is_answered_where_its_client_runs() {
        let responders = Responders::start().unwrap();
        let address = responders.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        for (place, core) in CORES.into_iter().enumerate() {
            pin(0, core).unwrap();
            let before = responders.counts();
            let mut stream = TcpStream::connect(&address).unwrap();
            for _ in 0..1_000 {
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                let mut answer = vec![0; RESPONSE.len()];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, RESPONSE);
            }
            let after = responders.counts();
            assert_eq!(after[0] + after[1] - before[0] - before[1], 1_000);
            assert!(after[place] - before[place] >= 800, "core {core}: {before:?} {after:?}");
        }
    }
}
