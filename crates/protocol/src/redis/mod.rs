//! Redis (RESP2 and RESP3): commands out, replies back, over one connection that is opened when it is first needed.
//!
//! Read [`RedisClient`] first; `resp` reads replies where they lie, without a tree of values. Over [`raw`](crate::raw) connections.
//! Deliberately absent: clusters (a `MOVED` is a failed command), publications that nobody asked for.

mod address;
mod client;
mod resp;

pub use address::{RedisAddress, RedisAddressError};
pub use client::{RedisClient, RedisExchange, error_code};
pub use resp::{RedisPart, RedisReplies, write_argument, write_command};
