//! Raw TCP, plain or with TLS: sends bytes, and reads an answer up to an end that the caller defines. Each step has exact instants.
//!
//! Read [`RawConnection`] first. The end of an answer is defined by a [`ReadUntil`], or by another protocol's framing. Deliberately absent: the
//! meaning of the bytes, and reconnecting.

mod connection;
mod framing;
mod times;

pub use connection::{RawConnection, RawTarget};
pub(crate) use framing::AnswerFraming;
pub use framing::ReadUntil;
pub use times::RawTimes;
