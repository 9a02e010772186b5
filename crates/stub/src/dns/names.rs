//! The names that a name server knows, as plain data.

use std::net::IpAddr;

use serde::Deserialize;

/// A name that exists. Others do not (NXDOMAIN).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsName {
    pub name: String,
    /// For how long an answer may be believed.
    pub ttl_ns: u64,
    /// The first from the start.
    pub moves: Vec<DnsMove>,
}

/// From an instant of the run on, a name has these addresses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DnsMove {
    /// Since the run began. Nanoseconds.
    pub after_ns: u64,
    /// None: the name does not exist.
    pub addresses: Vec<IpAddr>,
}
