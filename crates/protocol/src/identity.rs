//! Client certificates: PEM or a PKCS #12 file, with a passphrase if they are encrypted.
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
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, InconsistentKeys};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificate_file::certificates_in;
use crate::network_error::NetworkError;
use crate::pem_encryption::{self, ENCRYPTED_FIELD, Undecrypted};

const ENCRYPTED: (&str, &str) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----");

const WRONG_PASSPHRASE: &str = "the passphrase is wrong";

/// Where a client certificate and its private key are.
#[derive(Clone, PartialEq, Eq)]
pub enum IdentitySource {
    /// PEM files: a certificate with its chain, and the key.
    Pem { certificate: PathBuf, key: PathBuf },
    /// One file of PKCS #12 (RFC 7292), often `.p12` or `.pfx`.
    Pkcs12(PathBuf),
    /// PEM in the test itself. `place`: names it in messages.
    Text { place: String, certificate: String, key: String },
}

/// Which of several client certificates a connection presents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IdentityChoice {
    /// Users take them in turn, by their number.
    #[default]
    InTurn,
    /// The first that the server accepts: by the authorities and the signatures that it names.
    ByServer,
}

/// Without keys.
impl fmt::Debug for IdentitySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem { certificate, key } => f.debug_struct("Pem").field("certificate", certificate).field("key", key).finish(),
            Self::Pkcs12(path) => f.debug_tuple("Pkcs12").field(path).finish(),
            Self::Text { place, .. } => f.debug_struct("Text").field("place", place).finish_non_exhaustive(),
        }
    }
}

/// A client certificate and its key. The workers share what was read.
#[derive(Clone)]
pub struct ClientIdentity {
    pub source: IdentitySource,
    passphrase: Option<String>,
    read: Arc<OnceLock<Arc<CertifiedKey>>>,
}

impl ClientIdentity {
    pub fn new(source: IdentitySource, passphrase: Option<String>) -> Self {
        Self { source, passphrase, read: Arc::default() }
    }

    /// The certificate and the key, which belong together. The first call reads the files.
    pub(crate) fn certified_key(&self) -> Result<Arc<CertifiedKey>, NetworkError> {
        if let Some(read) = self.read.get() {
            return Ok(Arc::clone(read));
        }
        let passphrase = self.passphrase.as_deref();
        let certified = match &self.source {
            IdentitySource::Pem { certificate, key } => from_pem((certificate, &read(certificate)?), (key, &read(key)?), passphrase)?,
            IdentitySource::Pkcs12(path) => from_pkcs12(path, passphrase)?,
            IdentitySource::Text { place, certificate, key } => {
                let [of_certificate, of_key] = ["cert", "key"].map(|part| PathBuf::from(format!("{place}.{part}")));
                from_pem((&of_certificate, certificate.as_bytes()), (&of_key, key.as_bytes()), passphrase)?
            }
        };
        Ok(Arc::clone(self.read.get_or_init(|| Arc::new(certified))))
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("source", &self.source).finish_non_exhaustive()
    }
}

fn problem(path: &Path, problem: impl Into<String>) -> NetworkError {
    NetworkError::File { path: path.to_owned(), problem: problem.into() }
}

fn read(path: &Path) -> Result<Vec<u8>, NetworkError> {
    std::fs::read(path).map_err(|error| problem(path, format!("cannot be read: {error}")))
}

/// Each of both: where it is, and its bytes.
fn from_pem(
    (certificate, certificate_bytes): (&Path, &[u8]),
    (key, key_bytes): (&Path, &[u8]),
    passphrase: Option<&str>,
) -> Result<CertifiedKey, NetworkError> {
    let (chain, private_key) = (certificates_in(certificate, certificate_bytes)?, private_key(key, key_bytes, passphrase)?);
    certified_key(chain, private_key).map_err(|error| match error {
        Error::InconsistentKeys(_) => NetworkError::KeyMismatch { certificate: certificate.to_owned(), key: key.to_owned() },
        Error::InvalidCertificate(_) => problem(certificate, "its first certificate cannot be read"),
        error => problem(key, format!("the private key cannot be used: {error}")),
    })
}

/// The certificates and the key, if it belongs to the first of them. Other than in rustls, that may be of version 1 of X.509, as `openssl x509 -req`
/// creates it: the server decides whether it accepts it.
fn certified_key(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<CertifiedKey, Error> {
    let signing_key = aws_lc_rs::default_provider().key_provider.load_private_key(key)?;
    let unreadable = Error::InvalidCertificate(CertificateError::BadEncoding);
    let (_, first) = chain.first().and_then(|first| X509Certificate::from_der(first).ok()).ok_or(unreadable)?;
    match signing_key.public_key() {
        Some(public) if public.as_ref() != first.public_key().raw => Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)),
        _ => Ok(CertifiedKey::new(chain, signing_key)),
    }
}

fn private_key(path: &Path, bytes: &[u8], passphrase: Option<&str>) -> Result<PrivateKeyDer<'static>, NetworkError> {
    let text = String::from_utf8_lossy(bytes);
    let passphrase_needed = || {
        problem(
            path,
            "the private key is encrypted: set its passphrase (clientCertificate.passphrase, --passphrase-file, or `password` of tlsAuth)",
        )
    };
    // PKCS #8 has a separate label. The older form has a header field (RFC 1421, section 4.6.1.1).
    if let Some(encoded) = between(&text, ENCRYPTED) {
        return decrypted(encoded, passphrase.ok_or_else(passphrase_needed)?).map_err(|why| problem(path, why));
    }
    if text.contains(ENCRYPTED_FIELD) {
        return decrypted_of_old_form(&text, passphrase.ok_or_else(passphrase_needed)?).map_err(|why| problem(path, why));
    }
    let key = PrivateKeyDer::from_pem_slice(bytes).map_err(|error| {
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

/// Decrypts a key in the older form of PEM, whose label names the format of the key.
fn decrypted_of_old_form(text: &str, passphrase: &str) -> Result<PrivateKeyDer<'static>, String> {
    type Form = fn(Vec<u8>) -> PrivateKeyDer<'static>;
    let forms: [(&str, Form); 2] = [
        ("RSA PRIVATE KEY", |der| PrivateKeyDer::from(PrivatePkcs1KeyDer::from(der))),
        ("EC PRIVATE KEY", |der| PrivateKeyDer::from(PrivateSec1KeyDer::from(der))),
    ];
    let block = |label: &str| between(text, (&format!("-----BEGIN {label}-----"), &format!("-----END {label}-----")));
    let (block, form) = forms
        .iter()
        .find_map(|(label, form)| Some((block(label).filter(|block| block.contains(ENCRYPTED_FIELD))?, form)))
        .ok_or("the encrypted private key is neither an RSA nor an EC key")?;
    match pem_encryption::decrypt(block, passphrase) {
        Ok(der) => Ok(form(der)),
        Err(Undecrypted::WrongPassphrase) => Err(WRONG_PASSPHRASE.to_owned()),
        Err(Undecrypted::Malformed) => Err("the encrypted private key is malformed".to_owned()),
        Err(Undecrypted::Cipher(cipher)) => Err(format!(
            "the private key is encrypted with {cipher}, which is not supported; convert it to PKCS #8: openssl pkcs8 -topk8 -in KEY -out key.pem"
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
    let certified = |at: usize| {
        let mut chain = vec![&archive.certs[at].cert];
        // Each certificate of a chain certifies the one before it (RFC 8446, section 4.4.2). The file may have them in any order.
        while let Some(next) = archive.certs.iter().map(|bag| &bag.cert).find(|next| certifies(next, &chain)) {
            chain.push(next);
        }
        let chain = chain.into_iter().map(|certificate| CertificateDer::from(certificate.as_der().to_vec())).collect();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.key.as_der().to_vec()));
        certified_key(chain, key)
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
