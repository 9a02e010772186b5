//! Errors of a stub: its description, its address, its certificate.

use std::net::SocketAddr;

use loadstone_units::UnitError;
use serde_json::Value;
use thiserror::Error;

use crate::DelayError;

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StubError {
    #[error("stub endpoint \"{route}\": {problem}")]
    Endpoint { route: String, problem: BehaviourError },
    #[error("a stub cannot listen on {address}: {source}; choose another address, or port 0 for any free one")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("stub: cannot {doing}: {problem}")]
    Certificate { doing: &'static str, problem: String },
    #[error("invalid stub description: {0}")]
    Description(BehaviourError),
    #[error("invalid stub description: \"{listen}\" is not an address: expected an IP address and a port, such as \"127.0.0.1:9099\"")]
    Address { listen: String },
    /// The error of the caller's file reader.
    #[error("invalid stub description: {problem}")]
    File { problem: String },
    #[error("a scripted server needs at least one script")]
    NoScript,
    #[error("a stub's thread did not start: {0}")]
    Thread(std::io::Error),
}

/// The invalid part of a behaviour, or of its description.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BehaviourError {
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error(transparent)]
    Delay(#[from] DelayError),
    #[error("{0} is not a rate: expected a number per second, or a string such as \"360/s\", \"90/min\" or \"5000/h\"")]
    Rate(Value),
    #[error("{0} is not a share: expected a number from 0 to 1, or a string such as \"1%\"")]
    Share(Value),
    #[error("{0} is not a fault: expected a status such as 503, \"reset\" or \"silence\"")]
    Fault(Value),
    #[error("cannot answer with status {0}: expected 200 to 999")]
    Status(u64),
    #[error("{0} is not a fault of a TCP stub: expected \"reset\" or \"silence\"")]
    TcpFault(u16),
    #[error("each fault's share must be from 0 to 1, and all shares together at most 1")]
    FaultShares,
    #[error("a rate limit must be above zero")]
    RateLimit,
    #[error("a concurrency limit must be at least 1")]
    ConcurrencyLimit,
    #[error("a slow body must send at least one byte at a time")]
    SlowBody,
    #[error("\"{0}\" is not a header name")]
    HeaderName(String),
    #[error("the value of header {0} has characters that are not allowed")]
    HeaderValue(String),
    #[error("\"{0}\" is not a route: expected a method and a path, such as \"GET /products/:id\", \"POST /files/*\" or \"* /health\"")]
    RoutePattern(String),
    #[error("\"{0}\" has an opening {{{{ without a closing }}}}")]
    UnclosedHole(String),
    #[error(
        "\"{{{{{0}}}}}\" is unknown in a template: expected method, path, body, sequence, id, parameter.NAME, query.NAME, header.NAME or json.PATH"
    )]
    UnknownHole(String),
    #[error("measured delays need at least one value")]
    NoDelays,
    #[error("{0} is not a delay in nanoseconds")]
    MeasuredDelay(f64),
    #[error("line {line}: \"{field}\" is not a delay in milliseconds")]
    DelayLine { line: usize, field: String },
    #[error("{file}: {problem}")]
    DelayFile { file: String, problem: Box<BehaviourError> },
    #[error("the file {0} was not read")]
    UnreadFile(String),
    #[error("a function is possible only in a test file")]
    NoTestFile,
    #[error("it never answers, because \"{0}\" comes before it and answers all of its requests: declare the more specific route first")]
    Shadowed(String),
    #[error("expected only one of {0}")]
    OneOf(&'static str),
}
