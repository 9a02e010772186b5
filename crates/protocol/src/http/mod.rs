//! HTTP as a load generator needs it: exact instants, prepared requests, bodies kept only when wanted.
//!
//! Read [`Client`] first: one user's connections. Inside, `answer` reads answers from bytes alone (no sockets), `flight`
//! moves one request over one connection, `pool` decides which connection that is.

mod answer;
mod chunked;
mod client;
mod content;
mod flight;
mod head;
mod headers;
mod message;
mod pool;
mod wire;

pub use crate::Failure;
pub use client::{Client, ClientOptions};
pub use headers::Headers;
pub use message::{BodyUse, Exchange, Origin, Request, Response};
pub use wire::PreparedRequest;
