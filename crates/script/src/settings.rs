//! Settings of requests and users that are not in the plan: base URLs, headers, credentials. They may contain secrets, so none of them is
//! written to a run directory.

use std::fmt;
use std::path::Path;

use loadstone_plan::Secrets;
use loadstone_protocol::http::ClientOptions;
use loadstone_protocol::{ClientIdentity, HostPattern, HostPatternError, IdentitySource};
use serde::Deserialize;

use crate::error::ScriptError;
use crate::proxy_setting::ProxySetting;

/// Credentials as written in the script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Auth {
    Bearer { bearer: String },
    Basic { username: String, password: String },
}

impl Auth {
    fn learn_secrets(&self, secrets: &mut Secrets) {
        match self {
            Auth::Bearer { bearer } => secrets.learn(bearer),
            Auth::Basic { password, .. } => {
                secrets.learn(password);
                secrets.learn_header("Authorization", &self.header());
            }
        }
    }

    /// The value of the `Authorization` header.
    pub(crate) fn header(&self) -> String {
        match self {
            Auth::Bearer { bearer } => format!("Bearer {bearer}"),
            Auth::Basic { username, password } => {
                use base64::Engine;
                format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}")))
            }
        }
    }
}

/// What a user keeps from one iteration to the next. `None`: kept in closed load, not in open load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keep {
    pub(crate) connections: Option<bool>,
    pub(crate) cookies: Option<bool>,
    pub(crate) state: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ScenarioSettings {
    pub(crate) name: String,
    pub(crate) target: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) auth: Option<Auth>,
    pub(crate) timeout_ns: Option<u64>,
    pub(crate) keep: Keep,
    /// Its requests and groups are counted and timed.
    pub(crate) measured: bool,
    /// Its users run functions once, before and after their iterations.
    pub(crate) on_start: bool,
    pub(crate) on_end: bool,
    /// These are measured, too.
    pub(crate) measures_start_and_end: bool,
}

/// When failed requests are sent again.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RetrySetting {
    pub(crate) times: u32,
    pub(crate) on: Option<Vec<String>>,
    pub(crate) wait_ns: Option<u64>,
}

/// When HTTP/2 is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Http2Use {
    Off,
    Auto,
    Only,
}

/// One client certificate as written in the script.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum ClientCertificate {
    Pem { certificate: String, key: String, passphrase: Option<String> },
    Pkcs12 { pkcs12: String, passphrase: Option<String> },
}

impl ClientCertificate {
    pub(crate) fn passphrase(&self) -> Option<&String> {
        let (ClientCertificate::Pem { passphrase, .. } | ClientCertificate::Pkcs12 { passphrase, .. }) = self;
        passphrase.as_ref()
    }

    /// Files are relative to the folder of the test.
    pub(crate) fn identity(&self, folder: &Path) -> ClientIdentity {
        let source = match self {
            ClientCertificate::Pem { certificate, key, .. } => {
                IdentitySource::Pem { certificate: folder.join(certificate), key: folder.join(key) }
            }
            ClientCertificate::Pkcs12 { pkcs12, .. } => IdentitySource::Pkcs12(folder.join(pkcs12)),
        };
        ClientIdentity::new(source, self.passphrase().cloned())
    }
}

/// Without the passphrase.
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

/// For the whole test.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Settings {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) auth: Option<Auth>,
    pub(crate) redirects: u32,
    /// Hosts to which responses may redirect, in addition to those that the test names.
    #[serde(default)]
    pub(crate) redirect_hosts: Vec<String>,
    pub(crate) keep_alive: bool,
    /// Per origin, for every version of HTTP. `None`: 6 for HTTP/1.1, and 1 for HTTP/2.
    pub(crate) connections_per_user: Option<usize>,
    pub(crate) retry_idle_close: bool,
    pub(crate) retry: Option<RetrySetting>,
    pub(crate) insecure: bool,
    pub(crate) roots: Vec<String>,
    /// Users take them in turn.
    pub(crate) client_certificates: Vec<ClientCertificate>,
    pub(crate) server_name: Option<String>,
    pub(crate) tls_resumption: bool,
    pub(crate) sources: Vec<String>,
    pub(crate) name_servers: Vec<String>,
    pub(crate) http2: Http2Use,
    pub(crate) proxy: Option<ProxySetting>,
    pub(crate) connections_per_second: Option<f64>,
    pub(crate) traceparent: bool,
    /// Servers are asked to describe the services that no file declares.
    pub(crate) grpc_reflection: bool,
    /// Indexed by the plan's scenario id.
    pub(crate) scenarios: Vec<ScenarioSettings>,
}

impl Settings {
    /// How a user's HTTP connections behave.
    pub(crate) fn connections(&self) -> ClientOptions {
        let defaults = ClientOptions::default();
        ClientOptions {
            keep_alive: self.keep_alive,
            connections_max: self.connections_per_user.unwrap_or(defaults.connections_max),
            shared_connections_max: self.connections_per_user.unwrap_or(defaults.shared_connections_max),
            retry_idle_close: self.retry_idle_close,
        }
    }

    /// Hosts to which responses may redirect, in addition to the targets.
    ///
    /// # Errors
    /// A string is not a host.
    pub(crate) fn redirect_hosts(&self) -> Result<Vec<HostPattern>, ScriptError> {
        let parsed = self.redirect_hosts.iter().map(|text| text.parse());
        parsed.collect::<Result<_, HostPatternError>>().map_err(|error| ScriptError::new(format!("redirects.hosts: {error}")))
    }

    /// The targets that scenarios have instead of the test's.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        self.scenarios.iter().filter_map(|scenario| scenario.target.as_deref())
    }

    /// Registers all strings in them that no output may show.
    pub(crate) fn learn_secrets(&self, secrets: &mut Secrets) {
        let scenarios = &self.scenarios;
        let headers = self.headers.iter().chain(scenarios.iter().flat_map(|scenario| &scenario.headers));
        headers.for_each(|(name, value)| secrets.learn_header(name, value));
        self.auth.iter().chain(scenarios.iter().flat_map(|scenario| &scenario.auth)).for_each(|auth| auth.learn_secrets(secrets));
        self.client_certificates.iter().filter_map(ClientCertificate::passphrase).for_each(|passphrase| secrets.learn(passphrase));
        let targets = scenarios.iter().filter_map(|scenario| scenario.target.clone());
        targets.chain(self.proxy.iter().flat_map(ProxySetting::urls)).for_each(|url| secrets.learn_urls(&url));
    }
}
