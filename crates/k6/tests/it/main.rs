//! VUs on virtual time, and their requests against a server that records them.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod client_certificates;
mod costs;
#[path = "../../../cli/tests/it/harness/free_port.rs"]
mod free_port;
mod grpc;
mod grpc_reflection;
mod harness;
mod html;
mod interruptions;
mod libraries;
mod real_time;
mod redis;
mod requests;
mod scripts;
mod sockets;
mod stacks;
mod subtle;
mod tls;
mod whole_load;
