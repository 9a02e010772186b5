//! Stubs as a client sees them: hyper's client for what HTTP means, raw sockets for what bytes do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod client;
mod demo;
mod dns;
mod limits;
mod proxy;
mod raw;
mod server;
mod spec;
mod truth;
