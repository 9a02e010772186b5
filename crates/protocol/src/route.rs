//! The route to every target: direct, through a Unix socket, or through an HTTP proxy. Only values; `connect` uses them.

use std::path::PathBuf;

use loadstone_metrics::Outcome;
use thiserror::Error;
use url::Url;

use crate::credentials::basic_authorization;
use crate::failure::Failure;
use crate::http::Origin;

/// The route to every target of a network.
#[derive(Debug, Clone, Default)]
pub enum NetworkRoute {
    #[default]
    Direct,
    /// A Unix socket replaces all hosts and ports, like curl's `--unix-socket`.
    Unix(PathBuf),
    /// An HTTP proxy forwards plain requests. Everything else uses tunnels through it.
    Proxy(Proxy),
}

impl NetworkRoute {
    /// The proxy that forwards plain requests, if there is one.
    pub(crate) fn forwards(&self, tls: bool) -> Option<&Proxy> {
        match self {
            Self::Proxy(proxy) if !tls => Some(proxy),
            _ => None,
        }
    }
}

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
