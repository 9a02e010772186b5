//! Why a call failed, or got no response.

use std::io;
use std::time::Duration;

/// Why a URL cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum HttpTargetError {
    #[error("the URL scheme \"{scheme}\" is not supported: expected http or https")]
    Scheme { scheme: String },
    #[error("the URL has no host")]
    Host,
    #[error("TLS cannot verify the host \"{host}\": it is neither a valid name nor an address")]
    ServerName { host: String },
    #[error("the user name and password of the URL contain characters that a header cannot carry")]
    Credentials,
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why there is no response, or only a part of it.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect to {authority}: {source}")]
    Connect { authority: String, source: io::Error },
    #[error("the TLS handshake with {authority} failed: {source}")]
    Tls { authority: String, source: io::Error },
    #[error("the connection to {authority} broke during the exchange: {source}")]
    Exchange { authority: String, source: hyper::Error },
    #[error("no response within {} s", limit.as_secs_f64())]
    Timeout { limit: Duration },
    #[error("the response from {authority} is longer than the limit of {bytes_max} bytes")]
    TooLong { authority: String, bytes_max: usize },
}
