//! TLS errors, worded for users.

use std::io;

use loadstone_metrics::Outcome;
use rustls::{AlertDescription, CertificateError, Error};

use crate::failure::Failure;

/// The error that TLS found, in the handshake or later. `None`: the error belongs to the connection.
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
            AlertDescription::ProtocolVersion => "the server supports no TLS version that is still safe (1.2 or 1.3)".to_owned(),
            AlertDescription::UnrecognisedName => "the server has no site with this name".to_owned(),
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
        CertificateError::BadSignature => "has an invalid signature",
        _ => "cannot be verified",
    }
}
