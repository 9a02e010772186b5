//! One URL to call, with everything that stays the same from call to call.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::body::{ConnectionTask, RequestBody, StreamedBody};
use crate::error::{HttpError, HttpTargetError};

/// A URL to call.
#[derive(Clone)]
pub struct HttpTarget {
    /// Without brackets.
    host: String,
    port: u16,
    /// As in the `Host` header and in messages.
    authority: String,
    path: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// From the user name and password of the URL.
    authorization: Option<HeaderValue>,
}

impl HttpTarget {
    /// A user name and password in the URL become basic authentication. For https, this reads the machine's trusted roots, which takes milliseconds:
    /// create a target once.
    ///
    /// # Errors
    /// The URL is invalid, or TLS cannot be set up on this machine.
    pub fn of(url: &Url) -> Result<Self, HttpTargetError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(HttpTargetError::Scheme { scheme: url.scheme().to_owned() });
        }
        let shown = url.host_str().filter(|host| !host.is_empty()).ok_or(HttpTargetError::Host)?;
        let host = shown.trim_matches(['[', ']']).to_owned();
        let authority = url.port().map_or_else(|| shown.to_owned(), |port| format!("{shown}:{port}"));
        let tls = match url.scheme() {
            "https" => {
                let name = ServerName::try_from(host.clone()).map_err(|_| HttpTargetError::ServerName { host: host.clone() })?;
                Some((connector()?, name))
            }
            _ => None,
        };
        Ok(Self {
            host,
            port: url.port_or_known_default().unwrap_or(80),
            authority,
            path: url[url::Position::BeforePath..url::Position::AfterQuery].to_owned(),
            tls,
            authorization: basic_authorization(url)?,
        })
    }

    /// The host, and the port if it is not the default of the scheme. For messages.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A request for the URL itself, to which the caller may add headers.
    pub fn request(&self, method: Method, body: impl Into<Bytes>) -> Request<RequestBody> {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = method;
        // The path comes from a parsed URL, whose characters are valid in a URI.
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("loadstone/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }

    /// Sends a request on a new connection and streams the response's body. The request's path may be another one of the same server. `Host` is
    /// added.
    ///
    /// Must be called within a tokio runtime. Dropping the future closes the connection.
    ///
    /// # Errors
    /// There is no response. A response with any status is not an error.
    pub async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<StreamedBody>, HttpError> {
        if let Ok(host) = HeaderValue::from_str(&self.authority) {
            request.headers_mut().insert(HOST, host);
        }
        let authority = || self.authority.clone();
        let connected = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = connected.map_err(|source| HttpError::Connect { authority: authority(), source })?;
        match &self.tls {
            None => self.exchange(stream, request).await,
            Some((tls, name)) => {
                let secured = tls.connect(name.clone(), stream).await;
                self.exchange(secured.map_err(|source| HttpError::Tls { authority: authority(), source })?, request).await
            }
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<RequestBody>,
    ) -> Result<Response<StreamedBody>, HttpError> {
        let broken = |source| HttpError::Exchange { authority: self.authority.clone(), source };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // The request or the body returns the same error.
        let task = ConnectionTask(tokio::spawn(connection).abort_handle());
        let response = sender.send_request(request).await.map_err(broken)?;
        Ok(response.map(|incoming| StreamedBody { incoming, authority: self.authority.clone(), _connection: task }))
    }
}

impl std::fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Shows neither the credentials nor the query, which may contain some.
        f.debug_struct("HttpTarget").field("authority", &self.authority).field("tls", &self.tls.is_some()).finish_non_exhaustive()
    }
}

/// RFC 7617. `None` if the URL has no password.
fn basic_authorization(url: &Url) -> Result<Option<HeaderValue>, HttpTargetError> {
    let Some(password) = url.password() else { return Ok(None) };
    let login = [percent_decoded(url.username()), vec![b':'], percent_decoded(password)].concat();
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(login))).map_err(|_| HttpTargetError::Credentials)?;
    value.set_sensitive(true);
    Ok(Some(value))
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

/// Trusts the certificates that the machine trusts.
fn connector() -> Result<TlsConnector, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> HttpTarget {
        HttpTarget::of(&Url::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn credentials_of_the_url_become_a_header_and_are_not_shown() {
        let header = |url: &str| target(url).request(Method::GET, "").headers().get(AUTHORIZATION).cloned();
        assert_eq!(header("http://me:p%40ss@h/").unwrap(), "Basic bWU6cEBzcw==");
        assert_eq!(header("http://h/"), None);
        let shown = format!("{:?}", target("http://me:p%40ss@h/?key=secret"));
        assert!(!shown.contains("ss") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn the_authority_contains_a_port_that_is_not_the_default() {
        for (url, authority, path) in
            [("http://h/metrics?a=1#x", "h", "/metrics?a=1"), ("http://h:80/", "h", "/"), ("http://[::1]:9090/api", "[::1]:9090", "/api")]
        {
            let target = target(url);
            assert_eq!((target.authority(), target.path()), (authority, path));
        }
        assert!(matches!(HttpTarget::of(&Url::parse("ftp://h/").unwrap()), Err(HttpTargetError::Scheme { .. })));
    }
}
