//! TLS and login credentials of the fleet's NATS server, agents and controller. Each fleet gets new ones. The authority's key is not stored.

use anyhow::Context;
use loadstone_report::access::Token;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// The server's listen address, and the paths of its files.
pub(super) const PORT: u16 = 4222;
pub(super) const FOLDER: &str = "/etc/nats";

pub(super) struct Credentials {
    agent: Token,
    controller: Token,
    /// Certificates and the server's key, as PEM.
    pub(super) authority: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Credentials {
    /// For a server that agents reach under this name, and a controller reaches on its own machine through a forwarded port.
    pub(super) fn new(server: &str) -> anyhow::Result<Self> {
        let random = || Token::random().context("cannot generate a password: the system provides no random bytes");
        let (authority, certificate, key) = certificates(server).context("cannot generate a certificate")?;
        Ok(Self { agent: random()?, controller: random()?, authority, certificate, key })
    }

    pub(super) fn address_of_agents(&self, server: &str) -> String {
        format!("tls://agent:{}@{server}:{PORT}", self.agent.as_str())
    }

    pub(super) fn address_of_controller(&self) -> String {
        format!("tls://controller:{}@127.0.0.1:{PORT}", self.controller.as_str())
    }

    /// The server's configuration. An agent cannot impersonate a controller.
    pub(super) fn configuration(&self) -> String {
        let (agent, controller) = (self.agent.as_str(), self.controller.as_str());
        format!(
            r#"port: {PORT}
tls {{ cert_file: "{FOLDER}/tls.crt", key_file: "{FOLDER}/tls.key" }}
authorization {{
  users: [
    {{ user: "agent", password: "{agent}",
      permissions: {{ publish: ["loadstone.announce", "loadstone.run.*"], subscribe: ["loadstone.agent.*"] }} }}
    {{ user: "controller", password: "{controller}",
      permissions: {{ publish: ["loadstone.agent.*"], subscribe: ["loadstone.announce", "loadstone.run.*"] }} }}
  ]
}}
"#
        )
    }
}

/// `(authority, certificate, key)`, as PEM.
fn certificates(server: &str) -> Result<(String, String, String), rcgen::Error> {
    let (issuer_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let mut issuer = CertificateParams::default();
    issuer.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    issuer.distinguished_name.push(DnType::CommonName, format!("{server} authority"));
    let authority = issuer.self_signed(&issuer_key)?.pem();
    let mut own = CertificateParams::new([server, "localhost", "127.0.0.1"].map(str::to_owned))?;
    own.distinguished_name.push(DnType::CommonName, server);
    let certificate = own.signed_by(&key, &Issuer::new(issuer, issuer_key))?.pem();
    Ok((authority, certificate, key.serialize_pem()))
}
