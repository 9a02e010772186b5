//! TLS with valid certificates, and with certificates that are invalid in each possible way.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Origin, Request};
use loadstone_protocol::{ClientIdentity, IdentitySource, NetworkOptions};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::read_lag::{read_lag, stamps};
use super::support::{client, failed, get, passed, run_with};

/// An issuer, its signing functions, and its PEM file.
pub(crate) struct Authority {
    folder: tempfile::TempDir,
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), certificate, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.file("root.pem", &self.certificate.pem())
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn sign(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        change(&mut params);
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add(self.certificate.der().clone()).unwrap();
        store
    }
}

pub(crate) fn acceptor(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    clients: Option<RootCertStore>,
    offered: &[&str],
) -> TlsAcceptor {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        Some(roots) => {
            builder.with_client_cert_verifier(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap())
        }
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Answers every request with `ok`. The header `X-Resumed` shows whether the session was resumed, and `X-Client` the end of the client's certificate.
pub(crate) async fn answer_ok(mut stream: TlsStream<TcpStream>) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = stream.read(&mut buffer).await {
        let resumed = stream.get_ref().1.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| Some(chain.first()?.last_chunk::<8>()?.to_owned()));
        let client = shown.map_or(0, u64::from_be_bytes);
        let answer = format!("HTTP/1.1 200 OK\r\nX-Resumed: {resumed}\r\nX-Client: {client}\r\nContent-Length: 2\r\n\r\nok");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

pub(crate) async fn serve(certificate: CertificateDer<'static>, key: &KeyPair, clients: Option<RootCertStore>) -> SocketAddr {
    let acceptor = acceptor(certificate, key, clients, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::task::spawn_local(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer_ok(stream).await;
                }
            });
        }
    });
    address
}

pub(crate) fn over_tls(address: SocketAddr, host: &str) -> Request {
    let origin = Rc::new(Origin { tls: true, host: host.to_owned(), port: address.port() });
    Request { origin, ..get(address, "/") }
}

pub(crate) fn trusting(authority: &Authority) -> NetworkOptions {
    NetworkOptions { roots: vec![authority.root()], ..NetworkOptions::default() }
}

#[test]
fn a_trusted_certificate_passes_and_sessions_are_resumed() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost", "127.0.0.1"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let address = serve(certificate.der().clone(), &key, None).await;
        for (host, resumed) in [("localhost", "false"), ("localhost", "true"), ("127.0.0.1", "false")] {
            let client = client(&network);
            let first = client.send(&over_tls(address, host)).await;
            assert_eq!(passed(&first).headers.get("x-resumed"), Some(resumed), "{host}");
            assert!(first.phases.tls > 0);
            let second = client.send(&over_tls(address, host)).await;
            assert_eq!(passed(&second).body, "ok");
            assert!(!second.connected && second.phases.tls == 0);
        }
        assert_eq!(network.connections().opened, 3);
    });
}

#[test]
fn reads_through_tls_are_stamped_too() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let address = serve(certificate.der().clone(), &key, None).await;
        stamps(&network).await;
        let client = client(&network);
        passed(&client.send(&over_tls(address, "localhost")).await);
        read_lag(&network);
        let exchange = client.send(&over_tls(address, "localhost")).await;
        passed(&exchange);
        let lags = read_lag(&network);
        assert!(lags.count() == 1 && lags.max() <= exchange.phases.wait, "{lags:?}");
    });
}

#[test]
fn invalid_certificates_are_reported_with_the_reason() {
    let (authority, stranger) = (Authority::new("Known"), Authority::new("Stranger"));
    let expired = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    };
    let early = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2900, 1, 1);
        params.not_after = date_time_ymd(2901, 1, 1);
    };
    let cases = [
        (
            authority.sign(&["example.com", "10.0.0.1"], |_| {}),
            "is for another host name (example.com, 10.0.0.1); use a host name of the certificate",
        ),
        (authority.sign(&["localhost"], expired), "has expired; renew it on the server"),
        (authority.sign(&["localhost"], early), "is not valid yet; renew it on the server"),
        (
            authority.sign(&["localhost"], |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            "is that of an authority (CA:TRUE), which a server cannot use, even if it is trusted; issue a certificate with",
        ),
        (
            stranger.sign(&["localhost"], |_| {}),
            "is signed by an issuer that is not trusted here; trust its issuer with a root file (--root)",
        ),
    ];
    for ((certificate, key), what) in &cases {
        run_with(trusting(&authority), |network| async move {
            let address = serve(certificate.der().clone(), key, None).await;
            let exchange = client(&network).send(&over_tls(address, "localhost")).await;
            let (outcome, message) = failed(&exchange);
            assert_eq!(outcome, Outcome::Tls);
            assert!(message.starts_with(&format!("the server's certificate {what}")), "{message}");
            assert!(message.ends_with(", or accept any certificate with --insecure"), "{message}");
            assert!(message.contains("--root") == what.contains("issuer"), "{message}");
            assert!(exchange.phases.tls > 0);
        });
        run_with(NetworkOptions { insecure: true, ..NetworkOptions::default() }, |network| async move {
            let address = serve(certificate.der().clone(), key, None).await;
            passed(&client(&network).send(&over_tls(address, "localhost")).await);
        });
    }
}

fn pem_identity(certificate: PathBuf, key: PathBuf, passphrase: Option<&str>) -> ClientIdentity {
    ClientIdentity::new(IdentitySource::Pem { certificate, key }, passphrase.map(str::to_owned))
}

#[test]
fn a_client_certificate_is_sent_on_request() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    let (own, own_key) = authority.sign(&["client"], |_| {});
    let (authority, key, certificate) = (&authority, &key, &certificate);
    let identity = pem_identity(authority.file("own.pem", &own.pem()), authority.file("own.key", &own_key.serialize_pem()), None);
    run_with(NetworkOptions { identities: vec![identity], ..trusting(authority) }, |network| async move {
        let address = serve(certificate.der().clone(), key, Some(authority.roots())).await;
        passed(&client(&network).send(&over_tls(address, "localhost")).await);
    });
    run_with(trusting(authority), |network| async move {
        let address = serve(certificate.der().clone(), key, Some(authority.roots())).await;
        let exchange = client(&network).send(&over_tls(address, "localhost")).await;
        assert_eq!(failed(&exchange), (Outcome::Tls, "the server did not accept the client certificate, or requires one"));
    });
}

#[test]
fn tls_and_plain_text_mixed_up_are_reported() {
    let authority = Authority::new("Known");
    let (certificate, key) = authority.sign(&["localhost"], |_| {});
    run_with(trusting(&authority), |network| async move {
        let plain = super::support::serve_bytes("HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let address = serve(certificate.der().clone(), &key, None).await;
        let exchange = client(&network).send(&get(address, "/")).await;
        assert_eq!(failed(&exchange).1, "the response is TLS, not HTTP; is the URL meant to be https://?");
        let exchange = client(&network).send(&Request { timeout_ns: 500_000_000, ..over_tls(plain, "localhost") }).await;
        assert!(matches!(failed(&exchange).0, Outcome::Tls | Outcome::Timeout), "{exchange:?}");
    });
}

#[test]
fn files_that_cannot_be_used_are_named_at_once() {
    let authority = Authority::new("Known");
    let empty = authority.file("empty.pem", "nothing here");
    let clock = loadstone_metrics::clock::Clock::virtual_time();
    for roots in [vec![empty], vec![PathBuf::from("/no/such/file.pem")]] {
        let path = roots[0].display().to_string();
        let error = loadstone_protocol::Network::new(clock.clone(), NetworkOptions { roots, ..NetworkOptions::default() }).unwrap_err();
        assert!(error.to_string().starts_with(&path), "{error}");
    }
}

#[test]
fn a_key_that_cannot_be_used_is_refused_with_the_reason() {
    let authority = Authority::new("Known");
    let ((one, one_key), (_, other_key)) = (authority.sign(&["client"], |_| {}), authority.sign(&["client"], |_| {}));
    let certificate = authority.file("client.pem", &one.pem());
    let problem = |name: &str, text: &str| {
        let key = authority.file(name, text);
        let options = NetworkOptions { identities: vec![pem_identity(certificate.clone(), key, None)], ..NetworkOptions::default() };
        loadstone_protocol::Network::new(loadstone_metrics::clock::Clock::virtual_time(), options).err().map(|error| error.to_string())
    };
    assert_eq!(problem("key.pem", &one_key.serialize_pem()), None);
    let other = problem("other.pem", &other_key.serialize_pem()).unwrap();
    assert!(
        other.contains("other.pem: the private key does not belong to the certificate in ") && other.ends_with("client.pem"),
        "{other}"
    );
    for encrypted in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMIIB\n-----END RSA PRIVATE KEY-----\n",
    ] {
        let problem = problem("locked.pem", encrypted).unwrap();
        let expected = "locked.pem: the private key is encrypted: set its passphrase (clientCertificate.passphrase";
        assert!(problem.contains(expected), "{problem}");
    }
    let empty = problem("empty.pem", "nothing").unwrap();
    assert!(empty.ends_with("contains no PEM private key (-----BEGIN PRIVATE KEY-----)"), "{empty}");
}

/// A server without a common cipher suite ends the handshake with this alert.
#[test]
fn a_missing_cipher_suite_is_explained() {
    run_with(NetworkOptions::default(), |network| async move {
        const HANDSHAKE_FAILURE: u8 = 40;
        let address = super::support::serve(|mut peer, _| async move {
            let _ = peer.stream.read(&mut [0; 4096]).await;
            peer.send([21, 3, 3, 0, 2, 2, HANDSHAKE_FAILURE]).await;
            let _ = peer.stream.read(&mut [0; 4096]).await;
        })
        .await;
        let exchange = client(&network).send(&over_tls(address, "localhost")).await;
        let (outcome, message) = failed(&exchange);
        assert_eq!(outcome, Outcome::Tls);
        assert!(
            message.starts_with("the server found no common cipher suite: it must support TLS 1.3, or TLS 1.2 with ECDHE"),
            "{message}"
        );
    });
}
