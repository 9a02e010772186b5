//! Server-sent events (HTML standard, section 9.2): a request with an endless response.
//!
//! Read [`EventStream`] first. [`open`] opens one, and [`HttpSession::open_events`](crate::http::HttpSession::open_events) opens one with a session's
//! cookies. Deliberately absent: reconnecting after the end, which the caller decides ([`EventStream::last_id`] and [`EventStream::retry_ms`] help).

mod parser;
mod session;
mod stream;

pub use stream::{EventStream, EventStreamOpening, ServerSentEvent, open};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::parser::EventParser;
}
