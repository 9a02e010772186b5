//! TLS with rustls. All users of a worker with the same client certificate share one configuration, so that sessions can be resumed. A session
//! contains the identity of its client, so users with different certificates share none.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use loadstone_metrics::Outcome;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::accepted_identity::FirstAccepted;
use crate::certificate_file::{certificates, certificates_in};
use crate::client_tls::ClientTls;
use crate::failure::Failure;
use crate::identity::{ClientIdentity, IdentityChoice};
use crate::network_error::NetworkError;
use crate::options::NetworkOptions;
use crate::stream::RawSocket;
use crate::tls_failure::{TlsRemedies, complaint_with};
use crate::tls_offer::TlsOffer;

/// The machine's trusted roots. Reading them takes milliseconds, so it is done once, and only if TLS is used.
static SYSTEM_ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

pub(crate) struct Tls {
    insecure: bool,
    offer: TlsOffer,
    /// Trust the machine's roots, too.
    trusts_system: bool,
    roots: Vec<CertificateDer<'static>>,
    /// Client certificates, of which a connection presents one.
    identities: Vec<Arc<CertifiedKey>>,
    choice: IdentityChoice,
    /// Replaces the host.
    server_name: Option<ServerName<'static>>,
    full_handshakes: bool,
    remedies: TlsRemedies,
    /// One for each list of offered protocols: one or two.
    connectors: RefCell<Vec<(Alpn, Result<TlsConnector, Failure>)>>,
}

/// The protocols to offer (ALPN, RFC 7301), in order of preference.
pub(crate) type Alpn = &'static [&'static str];

impl Tls {
    /// One for each client certificate that users take in turn, or one.
    pub(crate) fn all(options: &NetworkOptions) -> Result<Vec<Rc<Self>>, NetworkError> {
        let identities = options.identities.iter().map(ClientIdentity::certified_key).collect::<Result<Vec<_>, _>>()?;
        let sets = match options.identity_choice {
            IdentityChoice::InTurn if !identities.is_empty() => identities.into_iter().map(|identity| vec![identity]).collect(),
            _ => vec![identities],
        };
        sets.into_iter().map(|identities| Self::new(options, identities).map(Rc::new)).collect()
    }

    fn new(options: &NetworkOptions, identities: Vec<Arc<CertifiedKey>>) -> Result<Self, NetworkError> {
        let mut roots = Vec::new();
        for path in &options.roots {
            roots.extend(certificates(path)?);
        }
        Ok(Self {
            insecure: options.insecure,
            offer: options.tls.clone(),
            trusts_system: true,
            roots,
            identities,
            choice: options.identity_choice,
            server_name: options.server_name.as_deref().map(server_name).transpose()?,
            full_handshakes: options.full_handshakes,
            remedies: options.tls_remedies,
            connectors: RefCell::default(),
        })
    }

    /// These settings, changed for one client. It shares no session with others.
    pub(crate) fn with(&self, own: &ClientTls) -> Result<Self, NetworkError> {
        let mut roots = if own.authorities.is_empty() { self.roots.clone() } else { Vec::new() };
        for (index, authority) in own.authorities.iter().enumerate() {
            let place = format!("{}[{index}]", own.place);
            roots.extend(certificates_in(Path::new(&place), authority.as_bytes())?);
        }
        let (identities, choice) = match &own.identity {
            Some(identity) => (vec![identity.certified_key()?], IdentityChoice::InTurn),
            None => (self.identities.clone(), self.choice),
        };
        Ok(Self {
            insecure: self.insecure,
            offer: self.offer.clone(),
            trusts_system: self.trusts_system && own.authorities.is_empty(),
            roots,
            identities,
            choice,
            server_name: own.server_name.as_deref().map(server_name).transpose()?.or_else(|| self.server_name.clone()),
            full_handshakes: self.full_handshakes,
            remedies: TlsRemedies { trust_issuer: own.trust_issuer.unwrap_or(self.remedies.trust_issuer), ..self.remedies },
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
        connector.connect(name, socket).await.map_err(|error| handshake_failure(&error, &self.remedies))
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
        let provider = Arc::new(self.offer.provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&self.offer.versions()).map_err(unusable)?;
        let builder = if self.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
        } else {
            let mut store = RootCertStore::empty();
            if self.trusts_system {
                let system = SYSTEM_ROOTS.get_or_init(|| rustls_native_certs::load_native_certs().certs);
                store.add_parsable_certificates(system.iter().cloned());
            }
            store.add_parsable_certificates(self.roots.iter().cloned());
            builder.with_root_certificates(store)
        };
        let mut config = match (self.choice, &self.identities[..]) {
            (_, []) => builder.with_no_client_auth(),
            (IdentityChoice::InTurn, [identity, ..]) => {
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(identity))))
            }
            (IdentityChoice::ByServer, all) => builder.with_client_cert_resolver(Arc::new(FirstAccepted(all.to_vec()))),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        if self.full_handshakes {
            config.resumption = Resumption::disabled();
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, NetworkError> {
    ServerName::try_from(name.to_owned()).map_err(|_| NetworkError::ServerName(name.to_owned()))
}

fn handshake_failure(error: &io::Error, remedies: &TlsRemedies) -> Failure {
    complaint_with(error, remedies).unwrap_or_else(|| match error.kind() {
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
