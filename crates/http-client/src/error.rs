//! Why a call could not be made, or got no response.

use std::io;
use std::time::Duration;

/// Why a URL cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum HttpTargetError {
    #[error("\"{scheme}\" is not a scheme to call: expected http or https")]
    Scheme { scheme: String },
    #[error("the URL names no host")]
    Host,
    #[error("\"{host}\" is not a host that TLS can verify")]
    ServerName { host: String },
    #[error("the user name and password of the URL cannot be sent")]
    Credentials,
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why there is no response, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot connect to {authority}: {source}")]
    Connect { authority: String, source: io::Error },
    #[error("the TLS handshake with {authority} failed: {source}")]
    Tls { authority: String, source: io::Error },
    #[error("the exchange with {authority} broke off: {source}")]
    Exchange { authority: String, source: hyper::Error },
    #[error("no response within {} s", limit.as_secs_f64())]
    Timeout { limit: Duration },
    #[error("the response of {authority} is longer than {bytes_max} bytes")]
    TooLong { authority: String, bytes_max: usize },
}
