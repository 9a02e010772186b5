//! Certificates: supplied by the user, or generated and signed by the server.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::StubError;

/// A certificate for these names, generated when the server starts, or one that the user supplies.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    pub own: Option<OwnCertificate>,
    /// DNS names and IP addresses.
    pub names: Vec<String>,
    pub state: CertificateState,
}

/// A certificate chain and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnCertificate {
    pub certificate_pem: String,
    pub key_pem: String,
}

impl std::fmt::Debug for OwnCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnCertificate(…)")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateState {
    Valid,
    /// Expired in 2001, for tests of how a client reports it.
    Expired,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self { own: None, names: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(), state: CertificateState::Valid }
    }
}

/// Returns the acceptor (offering HTTP/2 and HTTP/1.1) and the certificate as PEM.
pub(crate) fn acceptor(options: &TlsOptions) -> Result<(TlsAcceptor, String), StubError> {
    let (chain, private, pem) = match &options.own {
        Some(own) => own.read()?,
        None => signed(options)?,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, private))
        .map_err(|problem| wrong("use its certificate and key", &problem))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), pem))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, String);

impl OwnCertificate {
    fn read(&self) -> Result<Identity, StubError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificate_pem.as_bytes()).collect();
        let chain = chain.map_err(|problem| wrong("read its certificate", &problem))?;
        if chain.is_empty() {
            return Err(wrong("read its certificate", &"there is none in the PEM file"));
        }
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).map_err(|problem| wrong("read its key", &problem))?;
        Ok((chain, key, self.certificate_pem.clone()))
    }
}

/// Generated and signed here.
fn signed(options: &TlsOptions) -> Result<Identity, StubError> {
    let mut params =
        CertificateParams::new(options.names.clone()).map_err(|problem| wrong("create a certificate for these names", &problem))?;
    if options.state == CertificateState::Expired {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    }
    let generated = KeyPair::generate().and_then(|key| params.self_signed(&key).map(|certificate| (certificate, key)));
    let (certificate, key) = generated.map_err(|problem| wrong("sign a certificate", &problem))?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|problem| wrong("use the generated key", &problem))?;
    Ok((vec![certificate.der().clone()], private, certificate.pem()))
}

fn wrong(doing: &'static str, problem: &dyn std::fmt::Display) -> StubError {
    StubError::Certificate { doing, problem: problem.to_string() }
}
