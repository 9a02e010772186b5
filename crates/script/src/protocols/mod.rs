//! The protocols that users speak, and the one table of them.
//!
//! Each is a folder: its verbs, script objects, options, state of a user, actions at an iteration's end, and display in `try`. To add one:
//! a folder, and its line here (with its `mod`). Shared parts are in the same folder: `options`, `pattern`, `host_and_port`,
//! `raw_exchange`, `clients` (for databases and brokers), and `messages` (a queue of received messages, and the waits for them).
//! Deliberately absent: bytes on the wire, which are in the `protocol` crate.

mod clients;
pub(crate) mod grpc;
mod host_and_port;
pub(crate) mod http;
pub(crate) mod kafka;
mod messages;
mod options;
mod pattern;
mod raw_exchange;
pub(crate) mod redis;
mod sql;
mod sse;
mod tcp;
mod udp;
mod ws;

use crate::runtime::capability::Capability;
pub(crate) use http::options::REQUEST as REQUEST_OPTIONS;

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
