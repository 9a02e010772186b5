//! A TCP server that answers bytes with bytes, without a protocol above TCP.
//!
//! Read [`RequestEnd`] (where a request ends) and `talk`. [`TcpSpec`] is such a server as plain data. [`crate::raw`] is for tests of how a
//! client handles bytes that no correct server sends.

mod spec;
mod talk;

pub use spec::TcpSpec;

pub(crate) use talk::talk;

/// Where a request ends in the bytes of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestEnd {
    /// With the bytes of one read.
    #[default]
    Arrival,
    /// After the first occurrence of these bytes. At least one byte.
    Delimiter(Vec<u8>),
    /// After this many bytes. At least one.
    Length(usize),
}

/// How a TCP server talks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpTalk {
    pub end: RequestEnd,
    /// What the server sends first.
    pub greeting: Vec<u8>,
    /// Closes the connection after each answer.
    pub closes: bool,
}
