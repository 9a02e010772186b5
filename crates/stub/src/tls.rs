//! Certificates that a server signs for itself.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

use crate::StubError;

/// A certificate for these names, made when the server starts.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// DNS names and IP addresses.
    pub names: Vec<String>,
    pub state: CertificateState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateState {
    Valid,
    /// Ended in 2001, for tests of what a client says about it.
    Expired,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self { names: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec(), state: CertificateState::Valid }
    }
}

/// Returns the acceptor (offering HTTP/2 and HTTP/1.1) and the certificate as PEM.
pub(crate) fn acceptor(options: &TlsOptions) -> Result<(TlsAcceptor, String), StubError> {
    let wrong = |doing, problem: &dyn std::fmt::Display| StubError::Certificate { doing, problem: problem.to_string() };
    let mut params =
        CertificateParams::new(options.names.clone()).map_err(|problem| wrong("make a certificate for these names", &problem))?;
    if options.state == CertificateState::Expired {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    }
    let made = KeyPair::generate().and_then(|key| params.self_signed(&key).map(|certificate| (certificate, key)));
    let (certificate, key) = made.map_err(|problem| wrong("sign a certificate", &problem))?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|problem| wrong("use the generated key", &problem))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(vec![certificate.der().clone()], private))
        .map_err(|problem| wrong("set up TLS", &problem))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), certificate.pem()))
}
