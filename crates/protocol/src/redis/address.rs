//! `redis://user:password@host:port/database`.

use thiserror::Error;
use url::Url;

use crate::credentials::percent_decoded;
use crate::raw::RawTarget;

const PORT: u16 = 6379;

/// The address of a server, the user, and the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisAddress {
    pub target: RawTarget,
    /// Empty: the default user.
    pub username: String,
    pub password: Option<String>,
    pub database: u32,
    /// RESP3 instead of RESP2.
    pub resp3: bool,
    /// Connections begin with `READONLY`: a replica in a cluster answers commands that only read.
    pub reads_replicas: bool,
}

/// Why a string is not a valid server address. The message contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RedisAddressError {
    #[error("it is not a URL ({0}): write it as redis://127.0.0.1:6379/0")]
    Url(url::ParseError),
    #[error("its scheme is {0}: write redis://, or rediss:// for TLS")]
    Scheme(String),
    #[error("it has no host: write it as redis://127.0.0.1:6379/0")]
    Host,
    #[error("its path is not the number of a database: write it as redis://127.0.0.1:6379/0")]
    Database,
}

impl RedisAddress {
    /// Parses a URL.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn parse(text: &str) -> Result<Self, RedisAddressError> {
        let url = Url::parse(text).map_err(RedisAddressError::Url)?;
        let tls = match url.scheme() {
            "redis" => false,
            "rediss" => true,
            other => return Err(RedisAddressError::Scheme(other.to_owned())),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(RedisAddressError::Host)?;
        let decoded = |text: &str| String::from_utf8_lossy(&percent_decoded(text)).into_owned();
        let database = match url.path().trim_matches('/') {
            "" => 0,
            number => number.parse().map_err(|_| RedisAddressError::Database)?,
        };
        Ok(Self {
            target: RawTarget {
                host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
                port: url.port().unwrap_or(PORT),
                tls,
            },
            username: decoded(url.username()),
            password: url.password().map(decoded),
            database,
            resp3: false,
            reads_replicas: false,
        })
    }

    /// Without credentials, for users.
    pub fn shown(&self) -> String {
        let scheme = if self.target.tls { "rediss" } else { "redis" };
        format!("{scheme}://{}/{}", self.target.authority(), self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_url_is_read() {
        let full = RedisAddress::parse("rediss://app:p%40ss@[::1]:7000/3").unwrap();
        assert_eq!(full.target, RawTarget { host: "::1".to_owned(), port: 7000, tls: true });
        assert_eq!((&*full.username, full.password.as_deref(), full.database), ("app", Some("p@ss"), 3));
        assert_eq!(full.shown(), "rediss://[::1]:7000/3");
        let short = RedisAddress::parse("redis://:secret@cache").unwrap();
        assert_eq!((short.target.port, &*short.username, short.password.as_deref(), short.database), (6379, "", Some("secret"), 0));
    }

    #[test]
    fn invalid_addresses_are_reported_without_their_password() {
        for (text, expected) in [
            ("127.0.0.1:6379", "it is not a URL"),
            ("http://:hidden@h", "its scheme is http"),
            ("redis://:hidden@h/zero", "not the number of a database"),
            ("redis:///0", "it has no host"),
        ] {
            let message = RedisAddress::parse(text).unwrap_err().to_string();
            assert!(message.contains(expected) && !message.contains("hidden"), "{text}: {message}");
        }
    }
}
