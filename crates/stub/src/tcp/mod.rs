//! Answers of bytes to bytes: a server of TCP without a protocol above it.
//!
//! Read [`RequestEnd`] (where a request ends) and `talk`. [`TcpSpec`] is a stub of it as plain data. For tests of what a client does with bytes that no
//! server sends there is [`crate::raw`].

mod spec;
mod talk;

pub use spec::TcpSpec;

pub(crate) use talk::talk;

/// Where a request ends in the bytes of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestEnd {
    /// With what one read finds.
    #[default]
    Arrival,
    /// Behind the first of these bytes, of which there is at least one.
    Delimiter(Vec<u8>),
    /// After so many bytes, at least one.
    Length(usize),
}

/// How a server of TCP talks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpTalk {
    pub end: RequestEnd,
    /// What the server says first.
    pub greeting: Vec<u8>,
    /// Closes the connection behind each answer.
    pub closes: bool,
}
