//! TLS in a stub's description.

use serde::Deserialize;

use crate::{OwnCertificate, StubError, TlsOptions};

/// `false`, `true` for a certificate that is generated at the start, or the PEM files of one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum TlsSpec {
    Generated(bool),
    Own(CertificateFiles),
    #[serde(skip)]
    Read(OwnCertificate),
}

/// PEM files of a certificate chain and its key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateFiles {
    pub certificate: String,
    pub key: String,
}

impl Default for TlsSpec {
    fn default() -> Self {
        Self::Generated(false)
    }
}

impl TlsSpec {
    /// Replaces the files by their content.
    pub(crate) fn read_files<E: std::fmt::Display>(&mut self, read: impl Fn(&str) -> Result<String, E>) -> Result<(), StubError> {
        if let Self::Own(files) = self {
            let read = |file: &str| read(file).map_err(|problem| StubError::File { problem: problem.to_string() });
            *self = Self::Read(OwnCertificate { certificate_pem: read(&files.certificate)?, key_pem: read(&files.key)? });
        }
        Ok(())
    }

    /// For the server; `None` without TLS.
    pub(crate) fn options(&self) -> Result<Option<TlsOptions>, StubError> {
        match self {
            Self::Generated(false) => Ok(None),
            Self::Generated(true) => Ok(Some(TlsOptions::default())),
            Self::Own(files) => Err(StubError::File { problem: format!("the file {} was not read", files.certificate) }),
            Self::Read(own) => Ok(Some(TlsOptions { own: Some(own.clone()), ..TlsOptions::default() })),
        }
    }
}
