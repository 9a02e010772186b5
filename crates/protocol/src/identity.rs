//! Client certificates: PEM files or a PKCS #12 file, with a passphrase if they are encrypted.
//!
//! Read [`ClientIdentity`]. Everything is checked here, because the load would fail with every handshake otherwise. Deliberately absent: asking for
//! a passphrase, which a load test in a pipeline cannot do.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p12_keystore::Pkcs12Archive;
use p12_keystore::error::Error as Pkcs12Error;
use pkcs8::EncryptedPrivateKeyInfoRef;
use rustls::Error;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::certificate_file::certificates;
use crate::network_error::NetworkError;

const ENCRYPTED: (&str, &str) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----");

const WRONG_PASSPHRASE: &str = "the passphrase is wrong";

/// Where a client certificate and its private key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityFiles {
    /// PEM files: a certificate with its chain, and the key.
    Pem { certificate: PathBuf, key: PathBuf },
    /// One file of PKCS #12 (RFC 7292), often `.p12` or `.pfx`.
    Pkcs12(PathBuf),
}

/// A client certificate and its key. The workers share what was read.
#[derive(Clone)]
pub struct ClientIdentity {
    pub files: IdentityFiles,
    passphrase: Option<String>,
    read: Arc<OnceLock<Arc<CertifiedKey>>>,
}

impl ClientIdentity {
    pub fn new(files: IdentityFiles, passphrase: Option<String>) -> Self {
        Self { files, passphrase, read: Arc::default() }
    }

    /// The certificate and the key, which belong together. The first call reads the files.
    pub(crate) fn certified_key(&self) -> Result<Arc<CertifiedKey>, NetworkError> {
        if let Some(read) = self.read.get() {
            return Ok(Arc::clone(read));
        }
        let passphrase = self.passphrase.as_deref();
        let read = match &self.files {
            IdentityFiles::Pem { certificate, key } => from_pem(certificate, key, passphrase)?,
            IdentityFiles::Pkcs12(path) => from_pkcs12(path, passphrase)?,
        };
        Ok(Arc::clone(self.read.get_or_init(|| Arc::new(read))))
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("files", &self.files).finish_non_exhaustive()
    }
}

fn problem(path: &Path, problem: impl Into<String>) -> NetworkError {
    NetworkError::File { path: path.to_owned(), problem: problem.into() }
}

fn read(path: &Path) -> Result<Vec<u8>, NetworkError> {
    std::fs::read(path).map_err(|error| problem(path, format!("cannot be read: {error}")))
}

fn from_pem(certificate: &Path, key: &Path, passphrase: Option<&str>) -> Result<CertifiedKey, NetworkError> {
    let (chain, private_key) = (certificates(certificate)?, private_key(key, passphrase)?);
    CertifiedKey::from_der(chain, private_key, &aws_lc_rs::default_provider()).map_err(|error| match error {
        Error::InconsistentKeys(_) => NetworkError::KeyMismatch { certificate: certificate.to_owned(), key: key.to_owned() },
        Error::InvalidCertificate(_) => problem(certificate, "its first certificate cannot be read"),
        error => problem(key, format!("the private key cannot be used: {error}")),
    })
}

fn private_key(path: &Path, passphrase: Option<&str>) -> Result<PrivateKeyDer<'static>, NetworkError> {
    let bytes = read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    // PKCS #8 has a separate label. The older form has a header field (RFC 1421, section 4.6.1.1).
    if let Some(encoded) = between(&text, ENCRYPTED) {
        let needed = "the private key is encrypted: set its passphrase (clientCertificate.passphrase, or --passphrase-file)";
        return decrypted(encoded, passphrase.ok_or_else(|| problem(path, needed))?).map_err(|why| problem(path, why));
    }
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        let shown = path.display();
        let remedy = format!("convert it to PKCS #8: openssl pkcs8 -topk8 -in {shown} -out key.pem");
        return Err(problem(
            path,
            format!("the private key is encrypted in the format of old OpenSSL versions, which is not supported; {remedy}"),
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        problem(
            path,
            match error {
                pem::Error::NoItemsFound => "contains no PEM private key (-----BEGIN PRIVATE KEY-----)".to_owned(),
                error => format!("cannot be read as a PEM private key: {error}"),
            },
        )
    })?;
    if passphrase.is_some() {
        return Err(problem(path, "a passphrase is set, but the private key is not encrypted: remove the passphrase"));
    }
    Ok(key)
}

fn between<'t>(text: &'t str, (begin, end): (&str, &str)) -> Option<&'t str> {
    text.split_once(begin)?.1.split_once(end).map(|(within, _)| within)
}

/// Decrypts a key of PKCS #8 (RFC 5958, section 3).
fn decrypted(encoded: &str, passphrase: &str) -> Result<PrivateKeyDer<'static>, String> {
    let encoded: String = encoded.split_whitespace().collect();
    let der = STANDARD.decode(encoded).map_err(|_| "the encrypted private key is not valid base64")?;
    let malformed = |error: &dyn fmt::Display| format!("the encrypted private key is malformed: {error}");
    let info = EncryptedPrivateKeyInfoRef::try_from(der.as_slice()).map_err(|error| malformed(&error))?;
    match info.decrypt(passphrase) {
        Ok(key) => Ok(PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()))),
        // With a wrong passphrase, the result may look like padded text but is not a key.
        Err(pkcs8::Error::EncryptedPrivateKey(pkcs8::pkcs5::Error::DecryptFailed) | pkcs8::Error::Asn1(_)) => {
            Err(WRONG_PASSPHRASE.to_owned())
        }
        Err(error) => Err(format!(
            "the private key uses an encryption that is not supported ({error}); encrypt it with AES: openssl pkcs8 -topk8 -v2 aes-256-cbc"
        )),
    }
}

fn from_pkcs12(path: &Path, passphrase: Option<&str>) -> Result<CertifiedKey, NetworkError> {
    let bytes = read(path)?;
    let archive = Pkcs12Archive::from_pkcs12(&bytes, passphrase.unwrap_or_default())
        .map_err(|error| problem(path, pkcs12_problem(&bytes, passphrase, &error)))?;
    let key = match archive.keys.as_slice() {
        [key] => key,
        [] => return Err(problem(path, "the PKCS #12 file contains no private key")),
        keys => return Err(problem(path, format!("the PKCS #12 file contains {} private keys: export one of them alone", keys.len()))),
    };
    let provider = aws_lc_rs::default_provider();
    let certified = |at: usize| {
        let mut chain = vec![&archive.certs[at].cert];
        // Each certificate of a chain certifies the one before it (RFC 8446, section 4.4.2). The file may have them in any order.
        while let Some(next) = archive.certs.iter().map(|bag| &bag.cert).find(|next| certifies(next, &chain)) {
            chain.push(next);
        }
        let chain = chain.into_iter().map(|certificate| CertificateDer::from(certificate.as_der().to_vec())).collect();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
        CertifiedKey::from_der(chain, key, &provider)
    };
    let mut failure = None;
    for at in 0..archive.certs.len() {
        match certified(at) {
            Ok(found) => return Ok(found),
            Err(Error::InconsistentKeys(_)) => {}
            Err(error) => failure = Some(error),
        }
    }
    Err(problem(
        path,
        match failure {
            Some(error) => format!("the private key of the PKCS #12 file cannot be used: {error}"),
            None if archive.certs.is_empty() => "the PKCS #12 file contains no certificate".to_owned(),
            None => "the private key of the PKCS #12 file belongs to none of its certificates".to_owned(),
        },
    ))
}

/// Whether a certificate is the issuer of the last one of a chain, and not part of it.
fn certifies(next: &p12_keystore::Certificate, chain: &[&p12_keystore::Certificate]) -> bool {
    chain.last().is_some_and(|last| last.issuer() == next.subject()) && chain.iter().all(|known| known.as_der() != next.as_der())
}

fn pkcs12_problem(bytes: &[u8], passphrase: Option<&str>, error: &Pkcs12Error) -> String {
    match error {
        Pkcs12Error::MacError(_) if passphrase.is_none() => {
            "the PKCS #12 file is encrypted: set its passphrase (clientCertificate.passphrase, or --passphrase-file)".to_owned()
        }
        Pkcs12Error::MacError(_) | Pkcs12Error::UnpadError | Pkcs12Error::Pkcs5Error(_) => WRONG_PASSPHRASE.to_owned(),
        Pkcs12Error::DerError(_) if bytes.windows(10).any(|part| part == b"-----BEGIN") => {
            "is a PEM file, not PKCS #12: write { certificate, key } (--cert and --key)".to_owned()
        }
        Pkcs12Error::UnsupportedEncryptionScheme | Pkcs12Error::UnsupportedMacAlgorithm | Pkcs12Error::InvalidParameters => format!(
            "the PKCS #12 file uses an encryption that is not supported ({error}); export it again, for example with: openssl pkcs12 -export"
        ),
        error => format!("cannot be read as PKCS #12: {error}"),
    }
}
