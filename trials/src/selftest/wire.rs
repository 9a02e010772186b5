//! What went over the wire: when each request of a trial had left the generator and when its response had reached it.
//!
//! A server's own record begins when the server *reads* a request, and ends before it writes: what lay in its machine's kernel meanwhile is in neither, and
//! its absence would be taken for the generator's. The kernel itself sees each packet on the loopback device; a packet socket has it write down
//! the first bytes of those with a payload, with the time, into memory that is read once the run is over (packet(7), packet_mmap). No
//! process is woken meanwhile. Needs root.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::{slice, thread};

use anyhow::{Context, Result, anyhow};

/// Room for a packet: the kernel's words on it, and its IP and TCP heads.
const FRAME_BYTES: usize = 128;
const HEAD_BYTES: u32 = 40;
/// The byte of both heads with the flags of TCP; FIN and RST.
const FLAGS_AT: usize = 33;
const ENDS: u8 = 0x05;
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks: room for a million packets. What comes after them is not in the record; only a load that saturates a core gets there.
const BLOCKS: usize = 128;

/// Writes down the packets to and from one port until it is read.
pub(super) struct WireRecord {
    socket: OwnedFd,
    frames: NonNull<u8>,
    port: u16,
}

/// A packet with a payload, or one that ends its connection.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Packet {
    at_ns: u64,
    has_payload: bool,
    is_from_server: bool,
    client_port: u16,
}

impl WireRecord {
    /// `network`: the namespace whose loopback device it is.
    pub(super) fn begin(port: u16, network: Option<&Path>) -> Result<Self> {
        let socket = match network {
            // A socket remains in the namespace of the thread that created it, and the thread ends immediately.
            Some(network) => {
                let namespace = File::open(network).with_context(|| format!("opening {}", network.display()))?;
                let creation = thread::spawn(move || {
                    // SAFETY: no memory is passed.
                    let entered = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) == 0 };
                    if entered { packet_socket() } else { Err(io::Error::last_os_error()) }
                });
                creation.join().map_err(|_| anyhow!("a thread in another network namespace panicked"))?
            }
            None => packet_socket(),
        };
        socket.and_then(|socket| Self::of(socket, port)).context("recording packets on the loopback device needs root")
    }

    fn of(socket: OwnedFd, port: u16) -> io::Result<Self> {
        // Those who ask for all protocols get a packet before its receiver does. Who asks for one gets it after, when what follows from it may be written
        // down already.
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let mut program = filter(port);
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        // A packet on loopback passes twice: as one that goes out and as one that comes in.
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))?;
        let ring = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME_BYTES as u32,
            tp_frame_nr: (BLOCKS * BLOCK_BYTES / FRAME_BYTES) as u32,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)?;
        let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice, of the ring that was just made.
        let frames = unsafe { libc::mmap(ptr::null_mut(), BLOCKS * BLOCK_BYTES, read_write, shared, socket.as_raw_fd(), 0) };
        let frames = NonNull::new(frames).filter(|frames| frames.as_ptr() != libc::MAP_FAILED);
        let record = Self { frames: frames.ok_or_else(io::Error::last_os_error)?.cast(), socket, port };
        // SAFETY: the name ends with a zero. The loopback device has the same number in every namespace: it is made first.
        let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol,
            sll_ifindex: loopback as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the address is plain memory of the length given, and only read.
        let failed =
            unsafe { libc::bind(record.socket.as_raw_fd(), ptr::from_ref(&address).cast(), size_of::<libc::sockaddr_ll>() as u32) != 0 };
        if failed { Err(io::Error::last_os_error()) } else { Ok(record) }
    }

    /// How long each response took, from when the first packet of its request was sent to when its own last one had arrived. Nanoseconds, in order of size.
    /// To be called when the server has ended.
    pub(super) fn times(self) -> Vec<u64> {
        // SAFETY: the mapping is that long, and the kernel writes no more into it: the port's server is gone, and no other packet passes the filter.
        let frames = unsafe { slice::from_raw_parts(self.frames.as_ptr(), BLOCKS * BLOCK_BYTES) };
        times(frames.chunks_exact(FRAME_BYTES).map_while(|frame| packet(frame, self.port)))
    }
}

fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

impl Drop for WireRecord {
    fn drop(&mut self) {
        // SAFETY: it was mapped in `open` with this length, and no slice of it is left.
        unsafe { libc::munmap(self.frames.as_ptr().cast(), BLOCKS * BLOCK_BYTES) };
    }
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value is plain memory of the length given, and only read.
    let failed = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), size_of::<T>() as u32) != 0 };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the heads of TCP packets with a payload or an end pass that come from the port or go to it (bpf(4); IPv4 without options, as on loopback).
fn filter(port: u16) -> [libc::sock_filter; 20] {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let port = u32::from(port);
    [
        line(LOAD_BYTE, 0, 0, 0),
        line(IF_EQUAL, 0, 17, 0x45), // version 4, a head of five words
        line(LOAD_BYTE, 0, 0, 9),
        line(IF_EQUAL, 0, 15, libc::IPPROTO_TCP as u32),
        line(LOAD_HALF, 0, 0, 20),
        line(IF_EQUAL, 2, 0, port),
        line(LOAD_HALF, 0, 0, 22),
        line(IF_EQUAL, 0, 11, port),
        line(LOAD_BYTE, 0, 0, FLAGS_AT as u32),
        line(0x45, 8, 0, u32::from(ENDS)), // any of these bits
        // The length of both heads: 20 and four times the upper half of byte 32.
        line(LOAD_BYTE, 0, 0, 32),
        line(0x54, 0, 0, 0xf0), // and
        line(0x74, 0, 0, 2),    // shift right
        line(0x04, 0, 0, 20),   // add
        line(0x07, 0, 0, 0),    // into X
        line(LOAD_HALF, 0, 0, 2),
        line(0x1c, 0, 0, 0), // less X
        line(IF_EQUAL, 1, 0, 0),
        line(RETURN, 0, 0, HEAD_BYTES),
        line(RETURN, 0, 0, 0),
    ]
}

/// A frame of the ring; `None`: nothing was written there.
fn packet(frame: &[u8], port: u16) -> Option<Packet> {
    let word = |at: usize| frame.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    if word(0)? & libc::TP_STATUS_USER == 0 {
        return None;
    }
    let ip = usize::from(u16::from_ne_bytes(frame.get(14..16)?.try_into().ok()?));
    let head = frame.get(ip..ip + HEAD_BYTES as usize)?;
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (from, to) = (half(20), half(22));
    let heads = 20 + u16::from(head[32] >> 4) * 4;
    let at_ns = u64::from(word(16)?) * 1_000_000_000 + u64::from(word(20)?);
    let is_from_server = from == port;
    let client_port = if is_from_server { to } else { from };
    Some(Packet { at_ns, has_payload: half(2) > heads, is_from_server, client_port })
}

/// A request and what has come back for it so far.
struct WireExchange {
    asked_ns: u64,
    answered_ns: Option<u64>,
}

impl WireExchange {
    fn took_ns(&self) -> Option<u64> {
        Some(self.answered_ns?.saturating_sub(self.asked_ns))
    }
}

/// Connections ask one thing at a time, so what a client sends after a response is the next request. A request whose client went before the response came
/// was cut off, and took no time that anybody could have measured.
fn times(packets: impl Iterator<Item = Packet>) -> Vec<u64> {
    let mut open: HashMap<u16, WireExchange> = HashMap::new();
    let mut times = Vec::new();
    for packet in packets {
        match (packet.is_from_server, packet.has_payload) {
            (true, true) => {
                if let Some(exchange) = open.get_mut(&packet.client_port) {
                    exchange.answered_ns = Some(packet.at_ns);
                }
            }
            (true, false) => {}
            (false, true) if open.get(&packet.client_port).is_some_and(|exchange| exchange.answered_ns.is_none()) => {}
            (false, has_payload) => {
                let asked = has_payload.then_some(WireExchange { asked_ns: packet.at_ns, answered_ns: None });
                let before = match asked {
                    Some(exchange) => open.insert(packet.client_port, exchange),
                    None => open.remove(&packet.client_port),
                };
                times.extend(before.and_then(|exchange| exchange.took_ns()));
            }
        }
    }
    times.extend(open.values().filter_map(WireExchange::took_ns));
    times.sort_unstable();
    times
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_response_takes_from_the_first_packet_of_its_request_to_its_own_last() {
        let packet = |at_ns, has_payload, is_from_server, client_port| Packet { at_ns, has_payload, is_from_server, client_port };
        let (ask, say) = (|at, port| packet(at, true, false, port), |at, port| packet(at, true, true, port));
        let leave = |at, port| packet(at, false, false, port);
        // Two packets each way on one connection, then another request there; another connection meanwhile, and one without an answer.
        let seen = [ask(0, 1), ask(2, 1), ask(3, 2), say(10, 1), say(15, 1), ask(20, 1), say(27, 1), say(103, 2), ask(200, 3), ask(300, 2)];
        // The fourth leaves before its answer comes.
        let cut_off = [ask(400, 4), leave(410, 4), say(420, 4), leave(500, 1)];
        assert_eq!(times(seen.into_iter().chain(cut_off)), [7, 15, 100]);
    }

    /// Reads what is there, without sleeping for it. Whether there was anything to read.
    fn read_awake(stream: &mut TcpStream) -> bool {
        loop {
            match stream.read(&mut [0; 16]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
                read => return read.is_ok_and(|count| count > 0),
            }
        }
    }

    /// Two programs that never sleep, each on its own core, answer each other at once: no packet is recorded after its consequence.
    #[test]
    fn packets_are_written_down_in_the_order_of_cause_and_effect() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Ok(record) = WireRecord::begin(port, None) else { return };
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            while read_awake(&mut stream) {
                stream.write_all(b"done").unwrap();
            }
        });
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.set_nodelay(true).unwrap();
        client.set_nonblocking(true).unwrap();
        for _ in 0..20_000 {
            client.write_all(b"do it").unwrap();
            assert!(read_awake(&mut client));
        }
        drop(client);
        server.join().unwrap();
        assert_eq!(record.times().len(), 20_000);
    }

    /// A server that answers 20 ms after it read: the kernel's record has both directions, even if a program slept.
    #[test]
    fn the_kernel_saw_what_a_server_did() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let Ok(record) = WireRecord::begin(port, None) else { return };
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 5];
            for _ in 0..3 {
                stream.read_exact(&mut request).unwrap();
                thread::sleep(Duration::from_millis(20));
                stream.write_all(b"done").unwrap();
            }
        });
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        for _ in 0..3 {
            client.write_all(b"do it").unwrap();
            client.read_exact(&mut [0; 4]).unwrap();
        }
        drop(client);
        server.join().unwrap();
        let times = record.times();
        assert!(times.len() == 3 && times[0] >= 20_000_000, "{times:?}");
    }
}
