//! The choice among several client certificates, by what the server accepts.

use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Presents the first certificate that the server accepts, or none. Source: `getClientCertificate` and `CertificateRequestInfo.SupportsCertificate`
/// of Go's crypto/tls.
#[derive(Debug)]
pub(crate) struct FirstAccepted(pub(crate) Vec<Arc<CertifiedKey>>);

impl ResolvesClientCert for FirstAccepted {
    fn resolve(&self, authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let is_accepted = |identity: &&Arc<CertifiedKey>| {
            identity.key.choose_scheme(schemes).is_some() && (authorities.is_empty() || is_issued_by(identity, authorities))
        };
        self.0.iter().find(is_accepted).map(Arc::clone)
    }

    fn has_certs(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Whether one of the authorities, each a name in DER, issued a certificate of the chain.
fn is_issued_by(identity: &CertifiedKey, authorities: &[&[u8]]) -> bool {
    identity.cert.iter().any(|certificate| {
        let parsed = X509Certificate::from_der(certificate);
        parsed.is_ok_and(|(_, certificate)| authorities.contains(&certificate.tbs_certificate.issuer.as_raw()))
    })
}
