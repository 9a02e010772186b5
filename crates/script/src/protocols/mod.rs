//! The protocols that users speak, and the one table of them.
//!
//! Each is a folder of its own: its verbs, script objects, options, what it keeps for a user, what it closes at an iteration's end and
//! what `try` shows of it. To add one: a folder, and its line here (with its `mod`). Beside them stands what several share: `options`,
//! `pattern`, `host_and_port`, `raw_exchange`, `clients` (those of databases and their kin), and `messages` (a queue of what arrives, and the
//! waits for it). Deliberately absent: bytes on the wire, which are the `protocol` crate's.

mod clients;
pub(crate) mod grpc;
mod host_and_port;
mod http;
pub(crate) mod kafka;
mod messages;
mod options;
mod pattern;
mod raw_exchange;
mod redis;
mod sql;
mod sse;
mod tcp;
mod udp;
mod ws;

use crate::runtime::capability::Capability;

/// Every protocol.
pub(crate) const PROTOCOLS: &[&dyn Capability] = &[
    &http::Http,
    &ws::WebSockets,
    &sse::EventStreams,
    &grpc::Grpc,
    &tcp::TcpConnections,
    &udp::UdpSockets,
    &redis::RedisServers,
    &sql::Databases,
    &kafka::KafkaClusters,
];
