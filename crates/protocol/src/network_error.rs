//! Why a network setting cannot be used.

use std::path::PathBuf;

use thiserror::Error;

/// A setting that cannot be used.
#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("{path}: {problem}")]
    File { path: PathBuf, problem: String },
    #[error("{key}: the private key does not belong to the certificate in {certificate}")]
    KeyMismatch { certificate: PathBuf, key: PathBuf },
    #[error("\"{0}\" is not a server name: write a host name, such as \"www.example.org\"")]
    ServerName(String),
}
