//! The option `proxy` of a test.

use loadstone_protocol::{DirectHosts, Proxy, ProxyRules};
use serde::Deserialize;

use crate::error::ScriptError;

/// The value that stands for the variables of the environment.
const ENVIRONMENT: &str = "environment";
/// Variables whose value is a proxy's URL, which may contain a password.
const VARIABLES: [&str; 5] = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// As written in the script.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum ProxySetting {
    /// The URL of a proxy for everything, or `environment`.
    Text(String),
    BySchema(SchemeProxies),
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SchemeProxies {
    http: Option<String>,
    https: Option<String>,
    all: Option<String>,
    /// As in `NO_PROXY`.
    no_proxy: String,
}

impl ProxySetting {
    /// # Errors
    /// A URL is no proxy. The message has no credentials.
    pub(crate) fn rules(&self) -> Result<ProxyRules, ScriptError> {
        let proxy = |what: &str, url: &Option<String>| {
            let proxy = url.as_deref().map(Proxy::parse).transpose();
            proxy.map_err(|problem| ScriptError::new(format!("{what}: {problem}")))
        };
        match self {
            Self::Text(text) if text == ENVIRONMENT => ProxyRules::from_environment(|name| std::env::var(name).ok())
                .map_err(|(name, problem)| ScriptError::new(format!("proxy: the environment variable {name}: {problem}"))),
            Self::Text(url) => Ok(ProxyRules { all: proxy("proxy", &Some(url.clone()))?, ..ProxyRules::default() }),
            Self::BySchema(SchemeProxies { http, https, all, no_proxy }) => Ok(ProxyRules {
                http: proxy("proxy.http", http)?,
                https: proxy("proxy.https", https)?,
                all: proxy("proxy.all", all)?,
                direct: DirectHosts::parse(no_proxy),
            }),
        }
    }

    /// Its URLs.
    pub(crate) fn urls(&self) -> Vec<String> {
        match self {
            Self::Text(text) if text == ENVIRONMENT => VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).collect(),
            Self::Text(url) => vec![url.clone()],
            Self::BySchema(SchemeProxies { http, https, all, .. }) => [http, https, all].into_iter().flatten().cloned().collect(),
        }
    }
}
