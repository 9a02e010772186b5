//! Rules of a test for names and addresses: other addresses for hosts, and hosts and addresses to which nothing connects.
//!
//! They are k6's options `hosts`, `blockHostnames` and `blacklistIPs`. A host that a rule blocks is refused before its name is looked up, an address
//! after it.

use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

use crate::allowed_hosts::HostPattern;
use crate::failure::{Failure, FailureDetail};

/// Addresses with a common prefix: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    base: IpAddr,
    prefix_bits: u8,
}

/// Why a string is no block of addresses.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("\"{0}\" is not a range of addresses: write it as 10.0.0.0/8, or one address")]
pub struct AddressBlockError(String);

impl FromStr for AddressBlock {
    type Err = AddressBlockError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || AddressBlockError(text.to_owned());
        let (base, bits) = text.split_once('/').map_or((text, None), |(base, bits)| (base, Some(bits)));
        let base: IpAddr = base.trim().parse().map_err(|_| wrong())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.map_or(Ok(most), |bits| bits.trim().parse().map_err(|_| wrong()))?;
        if prefix_bits > most { Err(wrong()) } else { Ok(Self { base, prefix_bits }) }
    }
}

impl AddressBlock {
    pub fn contains(&self, address: IpAddr) -> bool {
        let (base, address, width) = match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => (u128::from(u32::from(base)), u128::from(u32::from(address)), 32),
            (IpAddr::V6(base), IpAddr::V6(address)) => (u128::from(base), u128::from(address), 128),
            // An IPv4 address that is written as IPv6 reaches the same host.
            (IpAddr::V4(_), IpAddr::V6(address)) => return address.to_ipv4_mapped().is_some_and(|address| self.contains(address.into())),
            (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let ignored = width - u32::from(self.prefix_bits);
        base.checked_shr(ignored).unwrap_or(0) == address.checked_shr(ignored).unwrap_or(0)
    }
}

/// The address to which connections to a host go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedHost {
    pub host: HostPattern,
    pub address: IpAddr,
    /// `None`: the port of the URL.
    pub port: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddressRules {
    /// The most specific pattern first.
    pub replaced: Vec<ReplacedHost>,
    pub blocked_hosts: Vec<HostPattern>,
    pub blocked_addresses: Vec<AddressBlock>,
}

impl AddressRules {
    /// Where a connection to a host goes: the address in place of a look-up, and the port.
    ///
    /// # Errors
    /// The host is blocked.
    pub(crate) fn route(&self, host: &str, port: u16) -> Result<(Option<IpAddr>, u16), Failure> {
        if self.blocked_hosts.iter().any(|blocked| blocked.names(host, port)) {
            let failure = Failure::unsendable(format!("the test blocks the host {host} (blockHostnames)"));
            return Err(failure.with(FailureDetail::BlockedHost));
        }
        let replaced = self.replaced.iter().find(|replaced| replaced.host.names(host, port));
        Ok(replaced.map_or((None, port), |replaced| (Some(replaced.address), replaced.port.unwrap_or(port))))
    }

    /// # Errors
    /// One of the addresses is blocked.
    pub(crate) fn check(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Failure> {
        let is_blocked = |address: &&IpAddr| self.blocked_addresses.iter().any(|blocked| blocked.contains(**address));
        match addresses.iter().find(is_blocked) {
            Some(address) => {
                let failure = Failure::unsendable(format!("the test blocks the address {address} of {host} (blacklistIPs)"));
                Err(failure.with(FailureDetail::BlockedAddress))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_contains_the_addresses_with_its_prefix() {
        for (block, address, contains) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "203.0.113.7", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("fd00::/8", "fd12::1", true),
            ("::/0", "fe80::1", true),
            ("fd00::/8", "10.0.0.1", false),
        ] {
            let (parsed, address): (AddressBlock, IpAddr) = (block.parse().unwrap(), address.parse().unwrap());
            assert_eq!(parsed.contains(address), contains, "{block} {address}");
        }
        for wrong in ["", "10.0.0.0/33", "host/8", "10.0.0.0/x", "::/129"] {
            assert!(wrong.parse::<AddressBlock>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_goes_to_its_address_or_is_blocked() {
        let rules = AddressRules {
            replaced: vec![ReplacedHost { host: "shop.test:443".parse().unwrap(), address: "10.0.0.7".parse().unwrap(), port: Some(8443) }],
            blocked_hosts: vec!["*.ads.test".parse().unwrap()],
            blocked_addresses: vec!["10.1.0.0/16".parse().unwrap()],
        };
        let route = |host, port| rules.route(host, port).map_err(|failure| failure.message);
        assert_eq!(route("shop.test", 443), Ok((Some("10.0.0.7".parse().unwrap()), 8443)));
        assert_eq!(route("shop.test", 80), Ok((None, 80)));
        assert!(route("a.ads.test", 80).unwrap_err().contains("blockHostnames"));
        assert!(rules.check("shop.test", &["10.1.2.3".parse().unwrap()]).unwrap_err().message.contains("blacklistIPs"));
        assert!(rules.check("shop.test", &["10.2.2.3".parse().unwrap()]).is_ok());
    }
}
