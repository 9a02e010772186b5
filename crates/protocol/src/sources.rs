//! Local source addresses as people write them: one, a range, or a block.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

use thiserror::Error;

/// Limit on the addresses of one range. With about 28,000 connections from each, this exceeds what one machine can hold.
const ADDRESSES_MAX: u128 = 65_536;

/// Addresses: `10.0.0.7`, `10.0.0.1-10.0.0.20` (both included), or `10.0.0.0/28` (the whole block, in IPv4 without its first and last address).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRange(pub Vec<IpAddr>);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("\"{text}\" {problem}: write an address (127.0.0.2), a range (127.0.0.1-127.0.0.20) or a block (127.0.0.0/27)")]
pub struct SourceError {
    text: String,
    problem: &'static str,
}

impl FromStr for SourceRange {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let wrong = |problem| SourceError { text: text.to_owned(), problem };
        let address = |part: &str| part.trim().parse::<IpAddr>().map_err(|_| wrong("is not an address"));
        if let Some((first, last)) = text.split_once('-') {
            return between(address(first)?, address(last)?).map_err(wrong);
        }
        let Some((base, bits)) = text.split_once('/') else { return Ok(Self(vec![address(text)?])) };
        let (base, bits) = (address(base)?, bits.trim().parse::<u32>().map_err(|_| wrong("has no prefix length"))?);
        block(base, bits).map_err(wrong)
    }
}

/// The first of these addresses from which this machine cannot connect.
pub fn foreign_source(sources: &[IpAddr]) -> Option<IpAddr> {
    let is_foreign = |source: &&IpAddr| {
        // Another error, such as a lack of descriptors, is not about the address.
        UdpSocket::bind((**source, 0)).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
    };
    sources.iter().find(is_foreign).copied()
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn between(first: IpAddr, last: IpAddr) -> Result<SourceRange, &'static str> {
    if first.is_ipv4() != last.is_ipv4() {
        return Err("mixes IPv4 and IPv6");
    }
    let (from, to) = (number(first), number(last));
    if from > to {
        return Err("ends before it begins");
    }
    if to - from >= ADDRESSES_MAX {
        return Err("has more than 65,536 addresses");
    }
    let at = |number: u128| if first.is_ipv4() { Ipv4Addr::from_bits(number as u32).into() } else { Ipv6Addr::from_bits(number).into() };
    Ok(SourceRange((from..=to).map(at).collect()))
}

fn block(base: IpAddr, bits: u32) -> Result<SourceRange, &'static str> {
    let width = if base.is_ipv4() { 32 } else { 128 };
    let host_bits = u32::checked_sub(width, bits).ok_or("has a prefix longer than its address")?;
    if host_bits > 17 {
        return Err("has more than 65,536 addresses");
    }
    let mask = (1u128 << host_bits) - 1;
    let (mut first, mut last) = (number(base) & !mask, number(base) | mask);
    // No connection can use the network's own address and its broadcast address.
    if base.is_ipv4() && host_bits >= 2 {
        (first, last) = (first + 1, last - 1);
    }
    let at = |number: u128| -> IpAddr {
        if width == 32 { Ipv4Addr::from_bits(number as u32).into() } else { Ipv6Addr::from_bits(number).into() }
    };
    between(at(first), at(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Result<(usize, String, String), String> {
        let range: SourceRange = text.parse().map_err(|error: SourceError| error.to_string())?;
        Ok((range.0.len(), range.0[0].to_string(), range.0[range.0.len() - 1].to_string()))
    }

    #[test]
    fn addresses_ranges_and_blocks_are_read() {
        for (text, count, first, last) in [
            ("127.0.0.7", 1, "127.0.0.7", "127.0.0.7"),
            ("127.0.0.1-127.0.1.20", 276, "127.0.0.1", "127.0.1.20"),
            ("10.1.2.3/28", 14, "10.1.2.1", "10.1.2.14"),
            ("10.1.2.3/31", 2, "10.1.2.2", "10.1.2.3"),
            ("10.1.2.3/32", 1, "10.1.2.3", "10.1.2.3"),
            ("fd00::/120", 256, "fd00::", "fd00::ff"),
            ("fd00::1 - fd00::3", 3, "fd00::1", "fd00::3"),
        ] {
            assert_eq!(ends(text), Ok((count, first.to_owned(), last.to_owned())), "{text}");
        }
    }

    #[test]
    fn addresses_of_other_machines_are_found() {
        let of = |texts: &[&str]| foreign_source(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>());
        assert_eq!(of(&["127.0.0.1", "127.0.0.9"]), None);
        // TEST-NET-1 (RFC 5737) belongs to no machine.
        assert_eq!(of(&["127.0.0.1", "192.0.2.7"]), Some("192.0.2.7".parse().unwrap()));
    }

    #[test]
    fn invalid_ranges_are_refused_with_the_valid_formats() {
        for text in ["", "localhost", "10.0.0.2-10.0.0.1", "10.0.0.1-fd00::1", "10.0.0.0/33", "10.0.0.0/8", "fd00::/64", "10.0.0.0/x"] {
            let error = ends(text).unwrap_err();
            assert!(error.starts_with(&format!("\"{text}\" ")) && error.ends_with("or a block (127.0.0.0/27)"), "{error}");
        }
    }
}
