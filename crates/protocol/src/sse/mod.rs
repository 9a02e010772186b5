//! Server-sent events (HTML standard, section 9.2): a request whose response goes on for ever.
//!
//! Read [`EventStream`] first; [`open`] makes one, and [`HttpSession::open_events`](crate::http::HttpSession::open_events) one with a
//! session's cookies. Deliberately absent: connecting again after the end, which is the caller's to decide
//! ([`EventStream::last_id`] and [`EventStream::retry_ms`] help).

mod parser;
mod session;
mod stream;

pub use stream::{EventStream, EventStreamOpening, ServerSentEvent, open};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::parser::EventParser;
}
