//! An HTTP proxy: its address and credentials.

use loadstone_metrics::Outcome;
use thiserror::Error;
use url::Url;

use crate::credentials::basic_authorization;
use crate::failure::Failure;
use crate::http::Origin;

/// An HTTP proxy.
#[derive(Debug, Clone)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    authorization: Option<String>,
}

/// Why a string is not a valid proxy. The message contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProxyError {
    #[error("not a URL ({0}): write it as http://proxy.example:3128")]
    Url(url::ParseError),
    #[error("{scheme}: proxies must use HTTP: write http://proxy.example:3128")]
    Scheme { scheme: String },
}

impl Proxy {
    /// From a URL such as `http://user:password@proxy.example:3128`. `None` when it is not an `http` URL.
    pub fn of(url: &Url) -> Option<Self> {
        if url.scheme() != "http" {
            return None;
        }
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { host, port: url.port_or_known_default()?, authorization: basic_authorization(url) })
    }

    /// Like [`Proxy::of`], from a string.
    ///
    /// # Errors
    /// The reason, without credentials.
    pub fn parse(text: &str) -> Result<Self, ProxyError> {
        let url = Url::parse(text).map_err(ProxyError::Url)?;
        Self::of(&url).ok_or_else(|| ProxyError::Scheme { scheme: url.scheme().to_owned() })
    }

    /// The same, with another port for a URL that has none.
    pub(crate) fn parse_with_port(text: &str, port: u16) -> Result<Self, ProxyError> {
        let mut proxy = Self::parse(text)?;
        // The URL standard drops a default port that is written.
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest).split(['/', '?', '#']).next().unwrap_or_default();
        if proxy.port == 80 && !authority.ends_with(":80") {
            proxy.port = port;
        }
        Ok(proxy)
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Where connections to it go.
    pub(crate) fn origin(&self) -> Origin {
        Origin { tls: false, host: self.host.clone(), port: self.port }
    }

    /// The failure for its status 407.
    pub(crate) fn wants_credentials(&self) -> Failure {
        let problem = match self.authorization {
            None => "requires a user name and password: put them into its URL",
            Some(_) => "does not accept the user name and password of its URL",
        };
        Failure::new(Outcome::Connect, format!("the proxy {}:{} {problem} (status 407)", self.host, self.port))
    }

    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}
