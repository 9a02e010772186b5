//! Raw TCP, plain or through TLS: bytes out, and back up to where the caller says that they end; each step with exact instants.
//!
//! Read [`RawConnection`] first. Where an answer ends is said by a [`ReadUntil`], or by another protocol's framing. Deliberately absent: what
//! the bytes mean, and connecting again.

mod connection;
mod framing;
mod times;

pub use connection::{RawConnection, RawTarget};
pub(crate) use framing::AnswerFraming;
pub use framing::ReadUntil;
pub use times::RawTimes;
