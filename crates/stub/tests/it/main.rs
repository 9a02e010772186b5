//! Stubs as clients observe them: hyper's client for the meaning of HTTP, raw sockets for the bytes.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should fail at that line")]

mod client;
mod demo;
mod dns;
mod limits;
mod proxy;
mod raw;
mod server;
mod spec;
mod truth;
