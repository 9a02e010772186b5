//! HTTP/2 for a load generator (RFC 9113): one connection whose streams requests share.
//!
//! Read [`Http2Connection`] first. `streams` has its state and no socket, `received` interprets what the server sends, `frame` is the wire format, and
//! `hpack` compresses header fields. Own code, because the request path of a library that serves every use takes more instructions than all the rest
//! of a request (bench/results/2026-12-01-http2.md).

mod connection;
mod end;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod hpack;
mod reason;
mod received;
mod settings;
mod stream;
mod streams;
#[cfg(test)]
mod tests;

pub(crate) use connection::Http2Connection;
pub(crate) use end::{BrokenStream, Http2Need};
pub(crate) use hpack::{DecodedBlock, HeadFields};
pub(crate) use stream::{Http2Stream, ResponseEnd};
pub(crate) use streams::ResponsePlan;
