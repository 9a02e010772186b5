//! TLS by rustls: one configuration per worker, so that sessions are resumed across its users.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use metrics::Outcome;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::stream::Socket;
use crate::{Failure, NetworkError, NetworkOptions};

/// What the machine trusts. Reading it takes milliseconds, so it is done once and only when TLS is used.
static SYSTEM_ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

pub(crate) struct Tls {
    insecure: bool,
    roots: Vec<CertificateDer<'static>>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    /// In place of the host.
    server_name: Option<ServerName<'static>>,
    full_handshakes: bool,
    /// By what is offered: HTTP/1.1 alone, or HTTP/2 first.
    http1: OnceCell<Result<TlsConnector, Failure>>,
    http2: OnceCell<Result<TlsConnector, Failure>>,
}

/// What ALPN offers (RFC 7301).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    Http1,
    Http2First,
}

impl Tls {
    pub(crate) fn new(options: &NetworkOptions) -> Result<Self, NetworkError> {
        let mut roots = Vec::new();
        for path in &options.roots {
            roots.extend(certificates(path)?);
        }
        let identity = match &options.identity {
            Some((chain, key)) => Some((certificates(chain)?, private_key(key)?)),
            None => None,
        };
        let named = |name: &String| ServerName::try_from(name.clone()).map_err(|_| NetworkError::ServerName(name.clone()));
        Ok(Self {
            insecure: options.insecure,
            roots,
            identity,
            server_name: options.server_name.as_ref().map(named).transpose()?,
            full_handshakes: options.full_handshakes,
            http1: OnceCell::new(),
            http2: OnceCell::new(),
        })
    }

    pub(crate) async fn handshake(&self, host: &str, stream: Socket, offer: Offer) -> Result<TlsStream<Socket>, Failure> {
        let connector = match offer {
            Offer::Http1 => self.http1.get_or_init(|| self.build(&["http/1.1"])),
            Offer::Http2First => self.http2.get_or_init(|| self.build(&["h2", "http/1.1"])),
        };
        let connector = connector.as_ref().map_err(Clone::clone)?;
        let of_host = || {
            ServerName::try_from(host.to_owned())
                .map_err(|_| Failure::new(Outcome::Tls, "the host is neither a name nor an address that a certificate could carry"))
        };
        let name = self.server_name.clone().map_or_else(of_host, Ok)?;
        connector.connect(name, stream).await.map_err(|error| handshake_failure(&error))
    }

    fn build(&self, offered: &[&str]) -> Result<TlsConnector, Failure> {
        let unusable = |error: Error| Failure::new(Outcome::Tls, format!("TLS settings cannot be used: {error}"));
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().map_err(unusable)?;
        let builder = if self.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
        } else {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(SYSTEM_ROOTS.get_or_init(|| rustls_native_certs::load_native_certs().certs).iter().cloned());
            store.add_parsable_certificates(self.roots.iter().cloned());
            builder.with_root_certificates(store)
        };
        let mut config = match &self.identity {
            Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(unusable)?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        if self.full_handshakes {
            config.resumption = Resumption::disabled();
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetworkError> {
    let problem = |problem: String| NetworkError::File { path: PathBuf::from(path), problem };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| problem(format!("cannot be read as PEM certificates: {error}")))?;
    if found.is_empty() {
        return Err(problem("holds no PEM certificate (-----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, NetworkError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| NetworkError::File { path: PathBuf::from(path), problem: format!("cannot be read as a PEM private key: {error}") })
}

fn handshake_failure(error: &io::Error) -> Failure {
    complaint(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof => Failure::new(Outcome::Tls, "the server closed the connection in the TLS handshake"),
        _ => Failure::broken(error),
    })
}

/// What TLS itself found wrong, in the handshake or later. `None`: the error is the connection's.
pub(crate) fn complaint(error: &io::Error) -> Option<Failure> {
    let message = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(certificate) => {
            let what = what_is_wrong(certificate);
            format!("the server's certificate {what}; trust its issuer with a root file, or accept any certificate with --insecure")
        }
        Error::AlertReceived(alert) => match alert {
            AlertDescription::CertificateRequired | AlertDescription::BadCertificate | AlertDescription::UnknownCA => {
                "the server did not accept the client certificate, or requires one".to_owned()
            }
            AlertDescription::ProtocolVersion => "the server speaks no TLS version that is still safe (1.2 or 1.3)".to_owned(),
            AlertDescription::UnrecognisedName => "the server knows no site of this name".to_owned(),
            alert => format!("the server ended the TLS connection: {alert:?}"),
        },
        Error::InvalidMessage(_) => "the server does not speak TLS on this port; is the URL meant to be http://?".to_owned(),
        error => format!("TLS failed: {error}"),
    };
    Some(Failure::new(Outcome::Tls, message))
}

fn what_is_wrong(certificate: &CertificateError) -> &'static str {
    match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "is for another host name",
        CertificateError::UnknownIssuer => "is signed by an issuer that is not trusted here",
        CertificateError::Revoked => "has been revoked",
        CertificateError::BadSignature => "carries a wrong signature",
        _ => "cannot be verified",
    }
}

/// `--insecure`: any certificate will do.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
