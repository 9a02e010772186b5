//! How the target is reached over the network.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use loadstone_protocol::http::{HttpOptions, TraceSeed, Versions};
use loadstone_protocol::{
    ClientIdentity, DirectHosts, IdentityChoice, IdentitySource, NetworkOptions, NetworkRoute, Proxy, ProxyRules, SourceRange,
};

use super::limits::LimitArgs;
use crate::argument;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Http2Flag {
    Off,
    Auto,
    Only,
}

fn connection_rate(text: &str) -> Result<f64, String> {
    let rate = loadstone_units::rate::parse(text).map_err(|error| error.to_string())?;
    if rate > 0.0 { Ok(rate) } else { Err("must be above 0".to_owned()) }
}

fn proxy(text: &str) -> Result<ProxyRules, String> {
    if text == "environment" {
        let rules = ProxyRules::from_environment(|name| std::env::var(name).ok());
        return rules.map_err(|(name, problem)| format!("the environment variable {name}: {problem}"));
    }
    Proxy::parse(text).map(ProxyRules::from).map_err(|problem| problem.to_string())
}

/// Never shown. It comes from a file, because other users of the machine can read command lines.
#[derive(Clone)]
pub(crate) struct Passphrase(String);

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

fn passphrase(file: &str) -> Result<Passphrase, String> {
    let text = std::fs::read_to_string(file).map_err(|error| argument::cannot_read(Path::new(file), &error))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Passphrase(line.to_owned())),
        _ => Err("its first line is empty: write the passphrase there".to_owned()),
    }
}

/// Network settings, in addition to those of a script.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct NetworkArgs {
    /// Accept any TLS certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// PEM file of a certificate authority to trust. Can be repeated.
    #[arg(long = "root", value_name = "FILE")]
    pub(crate) roots: Vec<PathBuf>,
    /// File of a client certificate: PEM, with its chain and --key, or PKCS #12 (.p12, .pfx), which contains the key.
    #[arg(long = "cert", value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// PEM file of the client certificate's private key.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// File whose first line is the passphrase of --key, or of a PKCS #12 file.
    #[arg(long = "passphrase-file", value_name = "FILE", requires = "certificate", value_parser = passphrase)]
    pub(crate) passphrase: Option<Passphrase>,
    /// Server name for SNI and for the check of certificates, instead of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub(crate) server_name: Option<String>,
    /// Make a full TLS handshake for every connection instead of resuming sessions.
    #[arg(long)]
    pub(crate) no_tls_resumption: bool,
    /// Local address, range (127.0.0.1-127.0.0.20) or block (10.0.0.0/28) to connect from. Can be repeated; all are used in turn.
    #[arg(long = "source", value_name = "ADDRESSES")]
    pub(crate) sources: Vec<SourceRange>,
    /// Use HTTP/2 where TLS negotiates it (auto), or always, even without TLS (only).
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) http2: Option<Http2Flag>,
    /// HTTP proxy, as http://user:password@host:port, or "environment" for the variables that curl reads. Default: none.
    #[arg(long, value_name = "URL", value_parser = proxy)]
    pub(crate) proxy: Option<ProxyRules>,
    /// Hosts to reach without the proxy, as in NO_PROXY: "localhost,.example.org,10.0.0.0/8".
    #[arg(long, value_name = "HOSTS", requires = "proxy")]
    pub(crate) no_proxy: Option<String>,
    /// Unix socket to connect to, for every host.
    #[arg(long, value_name = "PATH", conflicts_with = "proxy")]
    pub(crate) unix: Option<PathBuf>,
    /// Maximum new connections per second, such as 200 or "90/m". Requests that need more wait.
    #[arg(long, value_name = "RATE", value_parser = connection_rate)]
    pub(crate) connect_rate: Option<f64>,
    /// Send a traceparent header with every request, so that traces connect. Slow and failed requests show their trace id.
    #[arg(long)]
    pub(crate) traceparent: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl NetworkArgs {
    /// The first of these flags that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let given = [
            ("--insecure", self.insecure),
            ("--root", !self.roots.is_empty()),
            ("--cert", self.certificate.is_some()),
            ("--server-name", self.server_name.is_some()),
            ("--no-tls-resumption", self.no_tls_resumption),
            ("--source", !self.sources.is_empty()),
            ("--http2", self.http2.is_some()),
            ("--proxy", self.proxy.is_some()),
            ("--unix", self.unix.is_some()),
            ("--connect-rate", self.connect_rate.is_some()),
            ("--traceparent", self.traceparent),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    /// Applies the flags, which override the script. `seed`: the seed of the run's random draws.
    pub(crate) fn apply(&self, network: &mut NetworkOptions, seed: u64) {
        network.insecure |= self.insecure;
        network.roots.extend(self.roots.iter().cloned());
        if let Some(certificate) = self.certificate.clone() {
            let source = match self.key.clone() {
                Some(key) => IdentitySource::Pem { certificate, key },
                None => IdentitySource::Pkcs12(certificate),
            };
            let passphrase = self.passphrase.as_ref().map(|passphrase| passphrase.0.clone());
            network.identities = vec![ClientIdentity::new(source, passphrase)];
            network.identity_choice = IdentityChoice::InTurn;
        }
        network.server_name = self.server_name.clone().or_else(|| network.server_name.take());
        network.full_handshakes |= self.no_tls_resumption;
        network.sources.extend(self.sources.iter().flat_map(|range| &range.0));
        network.protocols.edit(|http: &mut HttpOptions| {
            match self.http2 {
                Some(Http2Flag::Off) => http.versions = Versions::Http1,
                Some(Http2Flag::Auto) => http.versions = Versions::Http2,
                Some(Http2Flag::Only) => http.versions = Versions::Http2Always,
                None => {}
            }
            if self.traceparent {
                http.traces.get_or_insert_with(|| TraceSeed::new(seed));
            }
        });
        if let Some(proxy) = &self.proxy {
            let mut rules = proxy.clone();
            if let Some(hosts) = &self.no_proxy {
                rules.direct = DirectHosts::parse(hosts);
            }
            network.route = rules.into();
        }
        if let Some(path) = &self.unix {
            network.route = NetworkRoute::Unix(path.clone());
        }
        network.connections_per_second = self.connect_rate.or(network.connections_per_second);
        if let Some(hosts) = self.limits.hosts() {
            network.allowed_hosts = std::mem::take(&mut network.allowed_hosts).within(hosts);
        }
    }
}
