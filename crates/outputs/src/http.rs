//! POSTs over HTTP/1.1, with TLS where the URL says so; one connection each, since there is one a second.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::outlet::Problem;

/// For connecting, sending and the answer together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Of an answer that says what is wrong. Bytes.
const ANSWER_MAX: usize = 64 << 10;
const ANSWER_SHOWN: usize = 200;

/// Posts to one URL.
pub(crate) struct Poster {
    runtime: Runtime,
    host: String,
    port: u16,
    path: String,
    tls: Option<TlsConnector>,
    headers: HeaderMap,
}

impl Poster {
    /// `headers` go with every request. A user and password in the URL become basic authentication.
    ///
    /// # Errors
    /// A sentence about what is wrong with the URL, the headers, or this machine's certificates.
    pub(crate) fn new(url: &Url, headers: &[(&str, &str)], given: &[(String, String)]) -> Result<Self, String> {
        let mut all = HeaderMap::new();
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in headers.iter().copied().chain(given) {
            let name = HeaderName::try_from(name).map_err(|_| format!("\"{name}\" is no name of a header"))?;
            // The value may be a secret: it is not shown.
            let value = HeaderValue::try_from(value).map_err(|_| format!("the value of the header {name} cannot be sent"))?;
            all.insert(name, value);
        }
        if let Some(login) = basic(url) {
            all.insert(AUTHORIZATION, login);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        let shown = if url.port().is_some() { format!("{host}:{port}") } else { host.clone() };
        all.insert(HOST, HeaderValue::try_from(shown).map_err(|problem| problem.to_string())?);
        all.insert(USER_AGENT, HeaderValue::from_static(concat!("loadstone/", env!("CARGO_PKG_VERSION"))));
        all.insert(CONNECTION, HeaderValue::from_static("close"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|problem| problem.to_string())?;
        let tls = if url.scheme() == "https" { Some(connector()?) } else { None };
        let path = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        Ok(Self { runtime, host: host.trim_matches(['[', ']']).to_owned(), port, path, tls, headers: all })
    }

    /// One request; anything but a success is a problem that says what the receiver said.
    pub(crate) fn post(&self, body: Vec<u8>) -> Result<(), Problem> {
        self.runtime.block_on(async {
            let late = || Problem { text: format!("no answer within {} s", TIMEOUT.as_secs()), passing: true };
            tokio::time::timeout(TIMEOUT, self.exchange(body.into())).await.unwrap_or_else(|_| Err(late()))
        })
    }

    async fn exchange(&self, body: Bytes) -> Result<(), Problem> {
        let Self { host, port, tls, .. } = self;
        let passing = |text: String| Problem { text, passing: true };
        let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(|problem| passing(problem.to_string()))?;
        match tls {
            None => self.over(stream, body).await,
            Some(tls) => {
                let name = ServerName::try_from(host.clone()).map_err(|problem| Problem { text: problem.to_string(), passing: false })?;
                let stream = tls.connect(name, stream).await.map_err(|problem| passing(format!("TLS: {problem}")))?;
                self.over(stream, body).await
            }
        }
    }

    async fn over(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, body: Bytes) -> Result<(), Problem> {
        let broken = |problem: hyper::Error| Problem { text: format!("the exchange broke off: {problem}"), passing: true };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let driver = tokio::spawn(connection);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() =
            self.path.parse().map_err(|problem| Problem { text: format!("{} is no path: {problem}", self.path), passing: false })?;
        *request.headers_mut() = self.headers.clone();
        let answer = sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        let said = Limited::new(answer.into_body(), ANSWER_MAX).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        driver.abort();
        if status.is_success() {
            return Ok(());
        }
        let said: String = String::from_utf8_lossy(&said).trim().chars().take(ANSWER_SHOWN).collect();
        // What the receiver refuses now it refuses again, unless it is overloaded or broken.
        let passing = status.is_server_error() || status.as_u16() == 429;
        Err(Problem { text: format!("it answered {status}{}{said}", if said.is_empty() { "" } else { ": " }), passing })
    }
}

fn basic(url: &Url) -> Option<HeaderValue> {
    let password = url.password()?;
    let decoded = |text: &str| -> Vec<u8> { percent_decoded(text) };
    let login = [decoded(url.username()), vec![b':'], decoded(password)].concat();
    HeaderValue::try_from(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login))).ok()
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten().and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(hex.unwrap_or(bytes[at]));
        at += if hex.is_some() { 3 } else { 1 };
    }
    out
}

fn connector() -> Result<TlsConnector, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.map_err(|problem| problem.to_string())?.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_the_url_become_a_header() {
        let header = |url: &str| basic(&Url::parse(url).unwrap()).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("http://me:p%40ss@h/").as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(header("http://h/"), None);
    }
}
