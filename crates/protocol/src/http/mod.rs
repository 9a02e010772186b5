//! HTTP as a load generator needs it: exact instants, prepared requests, bodies kept only when wanted.
//!
//! Read [`Client`] first: one user's connections. Inside, `answer` reads answers from bytes alone (no sockets), `flight`
//! moves one request over one connection, `pool` decides which connection that is. [`Session`] adds what a browser adds.

mod address;
mod answer;
mod chunked;
mod client;
mod content;
mod cookies;
mod flight;
mod h2;
mod head;
mod headers;
mod message;
mod multipart;
mod pool;
mod session;
mod takeover;
mod trace;
mod wire;

pub use crate::Failure;
pub use address::{UrlError, add_query, basic_authorization, form, path_of, resolve};
pub use client::{Client, ClientOptions, Versions};
pub use headers::Headers;
pub use message::{BodyUse, Exchange, Origin, Request, Response};
pub use multipart::Multipart;
pub(crate) use pool::Connection;
pub use session::{Hop, Hops, Session, SessionOptions};
pub(crate) use takeover::{ConnectReader, Takeover, take_over_events, take_over_upgraded};
pub(crate) use trace::Traces;
pub use trace::{TraceParent, TraceSeed};
pub use wire::PreparedRequest;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::answer::{AnswerReader, Wanted};
    pub(crate) use super::chunked::{Chunked, EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX};
}
