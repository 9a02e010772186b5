//! The route to every target: direct, through a Unix socket, or through an HTTP proxy. Only values; `connect` uses them.

use std::path::PathBuf;

use crate::http::Origin;
use crate::proxies::{ProxiedScheme, ProxyRules};
use crate::proxy::Proxy;

/// The route to every target of a network.
#[derive(Debug, Clone, Default)]
pub enum NetworkRoute {
    #[default]
    Direct,
    /// A Unix socket replaces all hosts and ports, like curl's `--unix-socket`.
    Unix(PathBuf),
    /// HTTP proxies forward plain requests. Everything else uses tunnels through them.
    Proxies(Box<ProxyRules>),
}

impl From<ProxyRules> for NetworkRoute {
    fn from(rules: ProxyRules) -> Self {
        Self::Proxies(Box::new(rules))
    }
}

impl From<Proxy> for NetworkRoute {
    fn from(proxy: Proxy) -> Self {
        ProxyRules::from(proxy).into()
    }
}

impl NetworkRoute {
    /// The proxy that forwards requests to an origin, if there is one.
    pub(crate) fn forwards(&self, origin: &Origin) -> Option<&Proxy> {
        match self {
            Self::Proxies(rules) if !origin.tls => rules.proxy_for(ProxiedScheme::Http, &origin.host),
            _ => None,
        }
    }

    /// The proxy that forwards plain requests, unless their host is reached directly.
    pub(crate) fn forwarder(&self) -> Option<&Proxy> {
        match self {
            Self::Proxies(rules) => rules.http.as_ref().or(rules.all.as_ref()),
            _ => None,
        }
    }
}
