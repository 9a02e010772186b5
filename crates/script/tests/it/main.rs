//! The script crate through its public interface: test files in; plans, errors and runs out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod addresses;
mod dns;
mod endings;
mod failures;
mod folder;
mod grpc;
mod kafka;
mod knobs;
mod loading;
mod local_address;
mod metrics;
mod misspelt;
mod modules;
mod mysql;
mod not_connected;
mod permissions;
mod redis;
mod refusals;
mod running;
mod shared_connections;
#[path = "../../../cli/tests/it/harness/shared_server.rs"]
mod shared_server;
mod sockets;
mod sql;
mod stepped;
mod stub_grpc;
mod stub_tcp;
mod tags;
mod tcp;
mod turns;
mod udp;
mod wire;
