//! TLS of a proxy: a local authority for its clients, and the machine's trusted roots for its target.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::error::WatchError;

/// Begins the file of the authority, so that a later run may replace it, and no other file is.
const MARK: &str = "# Authority of a proxy of `loadstone watch`, for one run. Its key was never stored.\n";

/// Accepts TLS for these names, with a certificate of a new authority, whose own certificate is written to `file`.
///
/// # Errors
/// The file cannot be written, or is another one.
pub(super) fn acceptor(file: &Path, names: Vec<String>) -> Result<TlsAcceptor, WatchError> {
    let problem = |problem: String| WatchError::Command { what: format!("--proxy-ca {}", file.display()), problem };
    let (authority, chain, key) = certificates(names).map_err(|error| problem(format!("cannot create its certificates: {error}")))?;
    write(file, &authority).map_err(problem)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| problem(format!("cannot set up TLS: {error}")))?;
    // The proxy records HTTP/1.1 only.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

type ProxyIdentity = (String, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn certificates(names: Vec<String>) -> Result<ProxyIdentity, rcgen::Error> {
    let (issuer_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    issuer.distinguished_name.push(DnType::CommonName, "Loadstone proxy, local authority");
    let authority = issuer.self_signed(&issuer_key)?;
    let mut own = CertificateParams::new(names)?;
    own.distinguished_name.push(DnType::CommonName, "Loadstone proxy");
    let certificate = own.signed_by(&key, &Issuer::new(issuer, issuer_key))?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|_| rcgen::Error::CouldNotParseKeyPair)?;
    Ok((authority.pem(), vec![certificate.der().clone()], key))
}

fn write(file: &Path, authority: &str) -> Result<(), String> {
    let is_ours = |text: &String| text.starts_with(MARK);
    if file.exists() && !std::fs::read_to_string(file).is_ok_and(|text| is_ours(&text)) {
        return Err(
            "this file has something else: name a new file, to which the certificate of the proxy's authority is written".to_owned()
        );
    }
    let written = std::fs::File::create(file).and_then(|mut file| file.write_all(format!("{MARK}{authority}").as_bytes()));
    written.map_err(|problem| format!("cannot write it: {}", loadstone_units::text::without_os_numbers(&problem.to_string())))
}

/// Trusts what this machine trusts, and the certificates in `SSL_CERT_FILE`.
///
/// # Errors
/// TLS cannot be set up on this machine.
pub(super) fn connector() -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
