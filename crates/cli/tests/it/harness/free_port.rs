//! Ports for servers that cannot choose one and print it.

use std::net::{TcpListener, UdpSocket};

/// Below the ephemeral ports of Linux (32768 and up), so no outgoing connection of another test takes a port before its server does.
const FIRST: u32 = 15_000;
const COUNT: u32 = 15_000;

/// A free TCP port on this host, which no other test process is given while this one runs.
///
/// A UDP socket on the same port reserves it until the process ends.
///
/// # Panics
///
/// When no port is free.
pub(crate) fn free_port(host: &str) -> u16 {
    // Processes begin at different ports: a search that meets reserved ports is slow.
    let begin = std::process::id().wrapping_mul(7_919);
    for step in 0..COUNT {
        let port = u16::try_from(FIRST + begin.wrapping_add(step) % COUNT).expect("a port has 16 bits");
        let Ok(reservation) = UdpSocket::bind((host, port)) else { continue };
        if TcpListener::bind((host, port)).is_ok() {
            std::mem::forget(reservation);
            return port;
        }
    }
    panic!("no port of {host} from {FIRST} on is free");
}
