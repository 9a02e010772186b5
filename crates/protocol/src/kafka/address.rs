//! `kafka://user:password@host:port?mechanism=…`, or `kafkas://…` for TLS.

use thiserror::Error;
use url::Url;

use super::scram::KafkaMechanism;
use crate::credentials::percent_decoded;
use crate::raw::RawTarget;

const PORT: u16 = 9092;

/// The address of a cluster: one of its brokers, and a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaAddress {
    /// The broker that reports the others. They are then reached at the addresses it reports.
    pub target: RawTarget,
    /// Name and password, and the mechanism for the login.
    pub login: Option<(String, String)>,
    pub mechanism: KafkaMechanism,
}

/// Why a string is not a valid broker address. The message contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KafkaAddressError {
    #[error("it is not a URL ({0}): write one of the brokers as kafka://127.0.0.1:9092; it reports the others")]
    Url(url::ParseError),
    #[error("its scheme is {0}: write kafka://, or kafkas:// for TLS")]
    Scheme(String),
    #[error("it has no host: write it as kafka://127.0.0.1:9092")]
    Host,
    #[error(
        "it has a path or unknown options: write it as kafka://127.0.0.1:9092; name the topic in the script; the only option is `mechanism`"
    )]
    Path,
    #[error("its mechanism is {0}: expected PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")]
    Mechanism(String),
    #[error("it has a mechanism but no login: write it as kafka://user:password@host:9092?mechanism=SCRAM-SHA-512")]
    NoLogin,
    #[error("it has a user without a password, or a password without a user: write both, as kafka://user:password@host:9092")]
    Login,
}

impl KafkaAddress {
    /// Parses a URL.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn parse(text: &str) -> Result<Self, KafkaAddressError> {
        let url = Url::parse(text).map_err(KafkaAddressError::Url)?;
        let tls = match url.scheme() {
            "kafka" => false,
            "kafkas" => true,
            other => return Err(KafkaAddressError::Scheme(other.to_owned())),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(KafkaAddressError::Host)?;
        let options: Vec<_> = url.query_pairs().collect();
        let written = match options.as_slice() {
            [] => None,
            [(name, mechanism)] if name == "mechanism" => Some(mechanism),
            _ => return Err(KafkaAddressError::Path),
        };
        if !matches!(url.path(), "" | "/") || url.query() == Some("") || url.fragment().is_some() {
            return Err(KafkaAddressError::Path);
        }
        let mechanism = match written {
            None => KafkaMechanism::Plain,
            Some(name) => {
                let known = KafkaMechanism::ALL.into_iter().find(|known| known.name() == name);
                known.ok_or_else(|| KafkaAddressError::Mechanism(name.to_string()))?
            }
        };
        let decoded = |text: &str| String::from_utf8_lossy(&percent_decoded(text)).into_owned();
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (user, Some(password)) if !user.is_empty() => Some((decoded(user), decoded(password))),
            _ => return Err(KafkaAddressError::Login),
        };
        if written.is_some() && login.is_none() {
            return Err(KafkaAddressError::NoLogin);
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { target: RawTarget { host, port: url.port().unwrap_or(PORT), tls }, login, mechanism })
    }

    /// Without credentials, for users.
    pub fn shown(&self) -> String {
        let scheme = if self.target.tls { "kafkas" } else { "kafka" };
        format!("{scheme}://{}", self.target.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_url_is_read() {
        let full = KafkaAddress::parse("kafkas://app:p%40ss@[::1]:7000").unwrap();
        assert_eq!(full.target, RawTarget { host: "::1".to_owned(), port: 7000, tls: true });
        assert_eq!((full.login.clone(), full.shown()), (Some(("app".to_owned(), "p@ss".to_owned())), "kafkas://[::1]:7000".to_owned()));
        assert_eq!(full.mechanism, KafkaMechanism::Plain);
        let scram = KafkaAddress::parse("kafka://app:p@broker?mechanism=SCRAM-SHA-512").unwrap();
        assert_eq!((scram.mechanism, scram.shown()), (KafkaMechanism::ScramSha512, "kafka://broker:9092".to_owned()));
        let short = KafkaAddress::parse("kafka://broker").unwrap();
        assert_eq!((short.target.port, short.login), (9092, None));
    }

    #[test]
    fn invalid_addresses_are_reported_without_their_password() {
        for (text, expected) in [
            ("127.0.0.1:9092", "it is not a URL"),
            ("kafka://a:9092,b:9092", "write one of the brokers"),
            ("http://app:hidden@h", "its scheme is http"),
            ("kafka://app:hidden@h/orders", "it has a path"),
            ("kafka://:hidden@h", "a password without a user"),
            ("kafka:///orders", "it has no host"),
            ("kafka://app:hidden@h?acks=1", "the only option is `mechanism`"),
            ("kafka://app:hidden@h?mechanism=GSSAPI", "its mechanism is GSSAPI"),
            ("kafka://h?mechanism=PLAIN", "a mechanism but no login"),
        ] {
            let message = KafkaAddress::parse(text).unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains("hidden"), "{text}: {message}");
        }
    }
}
