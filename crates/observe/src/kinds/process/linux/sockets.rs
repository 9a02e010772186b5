//! TCP sockets of this machine, as `/proc/net/tcp` lists them.

use crate::kinds::process::sockets::{TcpSocket, TcpState};
use crate::procfs::read;

/// All TCP sockets, IPv4 and IPv6. `None` if they cannot be read.
pub(crate) fn tcp() -> Option<Vec<TcpSocket>> {
    // A kernel without IPv6 lacks the second file.
    let tables = [read("/proc/net/tcp").ok()?, read("/proc/net/tcp6").unwrap_or_default()];
    Some(tables.iter().flat_map(|table| table.lines().skip(1).filter_map(parse)).collect())
}

/// `sl local remote st tx:rx tr:when retrnsmt uid timeout inode …`, numbers in hexadecimal but for the inode.
fn parse(line: &str) -> Option<TcpSocket> {
    let mut words = line.split_whitespace();
    let (_, port) = words.nth(1)?.rsplit_once(':')?;
    let state = u8::from_str_radix(words.nth(1)?, 16).ok()?;
    let (_, receive) = words.next()?.split_once(':')?;
    Some(TcpSocket {
        local_port: u16::from_str_radix(port, 16).ok()?,
        state: self::state(state)?,
        receive_queue: u64::from_str_radix(receive, 16).ok()?,
        inode: words.nth(4)?.parse().ok()?,
    })
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
        assert_eq!(parse(line), Some(TcpSocket { local_port: 8080, state: TcpState::Listen, receive_queue: 3, inode: 123_456 }));
        let line = "   1: 00000000000000000000000001000000:C350 00000000000000000000000001000000:0050 06 00000000:00000000 03:00001770 \
                    00000000     0        0 0 3 0000000000000000";
        assert_eq!(parse(line), Some(TcpSocket { local_port: 50_000, state: TcpState::TimeWait, receive_queue: 0, inode: 0 }));
        assert_eq!(parse("rubbish"), None);
    }
}
