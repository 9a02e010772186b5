//! The clients with servers that are scripted byte by byte, and with other implementations.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue may panic")]

mod conformance;
mod connections;
mod differential;
mod events;
mod exchange;
mod floods;
mod grpc;
mod http2;
mod identities;
mod raw;
mod read_lag;
mod routes;
mod session;
mod support;
mod tls;
mod websocket;
