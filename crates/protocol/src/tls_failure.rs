//! TLS errors, worded for users.

use std::io;

use loadstone_metrics::Outcome;
use rustls::{AlertDescription, CertificateError, Error, OtherError, PeerIncompatible};

use crate::failure::{Failure, FailureDetail};

/// Limit on the names of a certificate in a message.
const SHOWN_NAMES_MAX: usize = 3;

/// What Loadstone offers in addition to TLS 1.3: the suites of TLS 1.2 in rustls.
const SUITES: &str = "TLS 1.3, or TLS 1.2 with ECDHE and AES-GCM or ChaCha20-Poly1305";

/// The message for a server that supports none of the offered protocols.
pub(crate) const NO_COMMON_PROTOCOL: &str = "the server supports none of the offered HTTP versions (ALPN)";

/// What a user can do about a certificate that is refused, in the terms of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsRemedies {
    pub trust_issuer: &'static str,
    pub set_name: &'static str,
    pub accept_any: &'static str,
}

impl Default for TlsRemedies {
    fn default() -> Self {
        Self {
            trust_issuer: "trust its issuer with a root file (--root)",
            set_name: "use a host name of the certificate, or set one with --server-name (options.serverName)",
            accept_any: "accept any certificate with --insecure",
        }
    }
}

/// The error that TLS found after the handshake. `None`: the error belongs to the connection.
pub(crate) fn complaint(error: &io::Error) -> Option<Failure> {
    complaint_with(error, &TlsRemedies::default())
}

/// The error that TLS found in the handshake.
pub(crate) fn complaint_with(error: &io::Error, remedies: &TlsRemedies) -> Option<Failure> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let message = match error {
        Error::InvalidCertificate(certificate) => {
            let (problem, remedy) = certificate_problem(certificate, remedies);
            format!("the server's certificate {problem}; {remedy}, or {}", remedies.accept_any)
        }
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::PeerIncompatible(incompatible) => of_peer(incompatible),
        Error::InvalidMessage(_) => "the server does not speak TLS on this port; is the URL meant to be http://?".to_owned(),
        error => format!("TLS failed: {error}"),
    };
    let failure = Failure::new(Outcome::Tls, message);
    let detail = match error {
        Error::InvalidMessage(_) => FailureDetail::NotTls,
        Error::AlertReceived(_) => FailureDetail::TlsAlert,
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => FailureDetail::UnknownIssuer,
        // Only a certificate that nobody else signed is that of an authority.
        Error::InvalidCertificate(CertificateError::Other(other)) if is_of_authority(other) => FailureDetail::UnknownIssuer,
        Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }) => {
            FailureDetail::OtherHostName
        }
        _ => return Some(failure),
    };
    Some(failure.with(detail))
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired | AlertDescription::BadCertificate | AlertDescription::UnknownCA => {
            "the server did not accept the client certificate, or requires one".to_owned()
        }
        AlertDescription::ProtocolVersion => "the server supports no TLS version that is still safe (1.2 or 1.3)".to_owned(),
        AlertDescription::UnrecognisedName => "the server has no site with this name".to_owned(),
        AlertDescription::NoApplicationProtocol => NO_COMMON_PROTOCOL.to_owned(),
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            format!(
                "the server found no common cipher suite: it must support {SUITES}. Some servers of TLS 1.2 also report a missing client certificate this way"
            )
        }
        alert => format!("the server ended the TLS connection: {alert:?}"),
    }
}

fn of_peer(incompatible: &PeerIncompatible) -> String {
    match incompatible {
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "the server supports no TLS version that is still safe (1.2 or 1.3)".to_owned()
        }
        PeerIncompatible::NoCipherSuitesInCommon | PeerIncompatible::NoKxGroupsInCommon => {
            format!("the server has no cipher suite or key exchange in common with Loadstone: it must support {SUITES}")
        }
        other => format!("the server's TLS settings do not fit those of Loadstone ({other:?}): it must support {SUITES}"),
    }
}

/// Whether the certificate of the server is that of an authority, for which rustls has no separate variant.
fn is_of_authority(other: &OtherError) -> bool {
    format!("{other:?}").contains("CaUsedAsEndEntity")
}

/// What is wrong with a certificate, and what helps.
fn certificate_problem(certificate: &CertificateError, remedies: &TlsRemedies) -> (String, &'static str) {
    const RENEW: &str = "renew it on the server (or set this machine's clock)";
    const REISSUE: &str = "issue a certificate with basicConstraints=CA:FALSE and the host name in subjectAltName";
    const REPLACE: &str = "replace it on the server";
    let (problem, remedy) = match certificate {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => ("has expired", RENEW),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => ("is not valid yet", RENEW),
        CertificateError::NotValidForNameContext { presented, .. } => return (other_names(presented), remedies.set_name),
        CertificateError::NotValidForName => ("is for another host name", remedies.set_name),
        CertificateError::UnknownIssuer => ("is signed by an issuer that is not trusted here", remedies.trust_issuer),
        CertificateError::Revoked => ("has been revoked", REPLACE),
        CertificateError::BadSignature => ("has an invalid signature", REPLACE),
        CertificateError::Other(other) if is_of_authority(other) => {
            ("is that of an authority (CA:TRUE), which a server cannot use, even if it is trusted", REISSUE)
        }
        CertificateError::Other(other) if format!("{other:?}").contains("UnsupportedCertVersion") => {
            ("has the old version 1 of X.509, without host names", REISSUE)
        }
        _ => ("cannot be verified", remedies.trust_issuer),
    };
    (problem.to_owned(), remedy)
}

/// `presented`: as rustls shows names, such as `DnsName("example.com")`.
fn other_names(presented: &[String]) -> String {
    let names: Vec<&str> = presented
        .iter()
        .take(SHOWN_NAMES_MAX)
        .map(|name| name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name).trim_matches('"'))
        .collect();
    let more = if presented.len() > SHOWN_NAMES_MAX { ", …" } else { "" };
    match names.is_empty() {
        true => "contains no host name".to_owned(),
        false => format!("is for another host name ({}{more})", names.join(", ")),
    }
}
