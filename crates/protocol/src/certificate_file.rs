//! PEM files of certificates.

use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::network_error::NetworkError;

/// The first byte of a certificate or a PKCS #12 file in binary form.
const DER_SEQUENCE: u8 = 0x30;

/// The certificates of a PEM file, at least one.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let unreadable = |error| NetworkError::File { path: PathBuf::from(path), problem: format!("cannot be read: {error}") };
    certificates_in(path, &std::fs::read(path).map_err(unreadable)?)
}

/// The certificates of PEM, at least one. `path`: where it is.
pub(crate) fn certificates_in(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let problem = |problem: String| NetworkError::File { path: PathBuf::from(path), problem };
    let read = CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>();
    let found = read.map_err(|error| problem(format!("cannot be read as PEM certificates: {error}")))?;
    if found.is_empty() {
        let remedy = if bytes.first() == Some(&DER_SEQUENCE) {
            "; it is a binary file: if it is PKCS #12, write { pkcs12: FILE } (--cert FILE.p12)"
        } else {
            ""
        };
        return Err(problem(format!("contains no PEM certificate (-----BEGIN CERTIFICATE-----){remedy}")));
    }
    Ok(found)
}
