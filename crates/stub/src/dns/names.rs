//! The names that a name server knows, as plain data.

use std::net::IpAddr;

use serde::Deserialize;

/// A name that exists. Others do not (NXDOMAIN).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsName {
    pub name: String,
    /// Time to live of its answers.
    pub ttl_ns: u64,
    /// The first entry applies from the start.
    pub moves: Vec<DnsMove>,
}

/// The addresses of a name from an instant of the run on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsMove {
    /// Since the run began. Nanoseconds.
    pub after_ns: u64,
    /// Empty: the name does not exist.
    pub addresses: Vec<IpAddr>,
}
