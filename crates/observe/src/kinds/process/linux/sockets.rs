//! TCP sockets of this machine, as `/proc/net/tcp` lists them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::kinds::process::sockets::{TcpEnds, TcpSocket, TcpState};
use crate::procfs::read;

/// All TCP sockets, IPv4 and IPv6. `None` if they cannot be read.
pub(crate) fn tcp() -> Option<Vec<TcpSocket>> {
    // A kernel without IPv6 lacks the second file.
    let tables = [read("/proc/net/tcp").ok()?, read("/proc/net/tcp6").unwrap_or_default()];
    Some(tables.iter().flat_map(|table| table.lines().skip(1).filter_map(parse)).collect())
}

/// How many ports the kernel gives to connections to one endpoint from one address.
pub(crate) fn local_ports() -> Option<f64> {
    let text = read("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut words = text.split_whitespace().map(str::parse::<f64>);
    let (Some(Ok(first)), Some(Ok(last))) = (words.next(), words.next()) else { return None };
    (last >= first).then_some(last - first + 1.0)
}

/// `sl local remote st tx:rx tr:when retrnsmt uid timeout inode …`, numbers in hexadecimal but for the inode.
fn parse(line: &str) -> Option<TcpSocket> {
    let mut words = line.split_whitespace();
    let local = address(words.nth(1)?)?;
    let remote = address(words.next()?);
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let (_, receive) = words.next()?.split_once(':')?;
    Some(TcpSocket {
        local_port: local.port(),
        state: self::state(state)?,
        receive_queue: u64::from_str_radix(receive, 16).ok()?,
        inode: words.nth(4)?.parse().ok()?,
        ends: remote.map(|remote| TcpEnds { local, remote }),
    })
}

/// `0100007F:1F90`: the address as words in the order of the machine, the port as a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let word = |from: usize| Some(u32::from_str_radix(host.get(from..from + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(8 * index)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Numbers of include/net/tcp_states.h.
fn state(number: u8) -> Option<TcpState> {
    Some(match number {
        1 => TcpState::Established,
        2 | 3 | 12 => TcpState::Connecting,
        4 | 5 | 7 | 9 | 11 => TcpState::Closing,
        6 => TcpState::TimeWait,
        8 => TcpState::CloseWait,
        10 => TcpState::Listen,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_lines() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000  1000        0 123456 1 0000000000000000 100 0 0 10 0";
        let ends = |local: &str, remote: &str| Some(TcpEnds { local: local.parse().unwrap(), remote: remote.parse().unwrap() });
        let listening = TcpSocket {
            local_port: 8080,
            state: TcpState::Listen,
            receive_queue: 3,
            inode: 123_456,
            ends: ends("127.0.0.1:8080", "0.0.0.0:0"),
        };
        assert_eq!(parse(line), Some(listening));
        let line = "   1: 00000000000000000000000001000000:C350 0000000000000000FFFF00000100007F:0050 06 00000000:00000000 03:00001770 \
                    00000000     0        0 0 3 0000000000000000";
        let closed = TcpSocket {
            local_port: 50_000,
            state: TcpState::TimeWait,
            receive_queue: 0,
            inode: 0,
            ends: ends("[::1]:50000", "[::ffff:127.0.0.1]:80"),
        };
        assert_eq!(parse(line), Some(closed));
        assert_eq!(parse("rubbish"), None);
    }
}
