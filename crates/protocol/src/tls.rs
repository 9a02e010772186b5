//! TLS with rustls. All users of a worker share one configuration, so that sessions can be resumed.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use loadstone_metrics::Outcome;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::failure::Failure;
use crate::options::{NetworkError, NetworkOptions};
use crate::stream::RawSocket;
use crate::tls_failure::complaint;

/// The machine's trusted roots. Reading them takes milliseconds, so it is done once, and only if TLS is used.
static SYSTEM_ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

pub(crate) struct Tls {
    insecure: bool,
    roots: Vec<CertificateDer<'static>>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    /// Replaces the host.
    server_name: Option<ServerName<'static>>,
    full_handshakes: bool,
    /// One for each list of offered protocols: one or two.
    connectors: RefCell<Vec<(Alpn, Result<TlsConnector, Failure>)>>,
}

/// The protocols to offer (ALPN, RFC 7301), in order of preference.
pub(crate) type Alpn = &'static [&'static str];

impl Tls {
    pub(crate) fn new(options: &NetworkOptions) -> Result<Self, NetworkError> {
        let mut roots = Vec::new();
        for path in &options.roots {
            roots.extend(certificates(path)?);
        }
        let identity = match &options.identity {
            Some((chain, key)) => Some(identity(chain, key)?),
            None => None,
        };
        let named = |name: &String| ServerName::try_from(name.clone()).map_err(|_| NetworkError::ServerName(name.clone()));
        Ok(Self {
            insecure: options.insecure,
            roots,
            identity,
            server_name: options.server_name.as_ref().map(named).transpose()?,
            full_handshakes: options.full_handshakes,
            connectors: RefCell::default(),
        })
    }

    pub(crate) async fn handshake(&self, host: &str, socket: RawSocket, alpn: Alpn) -> Result<TlsStream<RawSocket>, Failure> {
        let connector = self.connector(alpn)?;
        let of_host = || {
            ServerName::try_from(host.to_owned())
                .map_err(|_| Failure::unsendable("the host is neither a name nor an address that a certificate can contain"))
        };
        let name = self.server_name.clone().map_or_else(of_host, Ok)?;
        connector.connect(name, socket).await.map_err(|error| handshake_failure(&error))
    }

    fn connector(&self, alpn: Alpn) -> Result<TlsConnector, Failure> {
        let mut connectors = self.connectors.borrow_mut();
        if let Some((_, connector)) = connectors.iter().find(|(offered, _)| *offered == alpn) {
            return connector.clone();
        }
        let connector = self.build(alpn);
        connectors.push((alpn, connector.clone()));
        connector
    }

    fn build(&self, alpn: Alpn) -> Result<TlsConnector, Failure> {
        let unusable = |error: Error| Failure::unsendable(format!("TLS settings cannot be used: {error}"));
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
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
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
        return Err(problem("contains no PEM certificate (-----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(found)
}

/// A client certificate and its key. They are checked here, because the load would fail with every handshake otherwise.
fn identity(chain: &Path, key: &Path) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), NetworkError> {
    let (certificates, private_key) = (certificates(chain)?, private_key(key)?);
    match CertifiedKey::from_der(certificates.clone(), private_key.clone_key(), &aws_lc_rs::default_provider()) {
        Ok(_) => Ok((certificates, private_key)),
        Err(Error::InconsistentKeys(_)) => Err(NetworkError::KeyMismatch { certificate: chain.to_owned(), key: key.to_owned() }),
        Err(Error::InvalidCertificate(_)) => {
            Err(NetworkError::File { path: chain.to_owned(), problem: "its first certificate cannot be read".to_owned() })
        }
        Err(error) => Err(NetworkError::File { path: key.to_owned(), problem: format!("the private key cannot be used: {error}") }),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, NetworkError> {
    let problem = |problem: String| NetworkError::File { path: PathBuf::from(path), problem };
    let text = std::fs::read(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let text = String::from_utf8_lossy(&text);
        // PKCS #8 has a separate label; the older form has a header field (RFC 1421, section 4.6.1.1).
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return problem(format!(
                "the private key is encrypted, and Loadstone cannot ask for its passphrase; write it without one: openssl pkey -in {} -out key.pem",
                path.display()
            ));
        }
        problem(match error {
            pem::Error::NoItemsFound => "contains no PEM private key (-----BEGIN PRIVATE KEY-----)".to_owned(),
            error => format!("cannot be read as a PEM private key: {error}"),
        })
    })
}

fn handshake_failure(error: &io::Error) -> Failure {
    complaint(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof => Failure::new(Outcome::Tls, "the server closed the connection in the TLS handshake"),
        _ => Failure::broken(error),
    })
}

/// `--insecure`: accepts any certificate.
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
