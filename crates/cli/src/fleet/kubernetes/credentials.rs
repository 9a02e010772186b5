//! What proves the fleet's NATS server to agents and controller, and them to it. Made anew with each fleet; the authority's key is not kept.

use anyhow::Context;
use loadstone_report::access::Token;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Where the server listens, and where it finds its files.
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
    /// For a server that the agents reach under this name, and a controller on its own machine, through a forwarded port.
    pub(super) fn new(server: &str) -> anyhow::Result<Self> {
        let random = || Token::random().context("cannot make a password: the system gives no random bytes");
        let (authority, certificate, key) = certificates(server).context("cannot make a certificate")?;
        Ok(Self { agent: random()?, controller: random()?, authority, certificate, key })
    }

    pub(super) fn address_of_agents(&self, server: &str) -> String {
        format!("tls://agent:{}@{server}:{PORT}", self.agent.as_str())
    }

    pub(super) fn address_of_controller(&self) -> String {
        format!("tls://controller:{}@127.0.0.1:{PORT}", self.controller.as_str())
    }

    /// Of the server. An agent cannot pass for a controller.
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
