//! One GET over HTTP/1.1, for exporters.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::description::without_credentials;

/// Larger responses are refused. Bytes.
const BODY_MAX: usize = 16 << 20;

/// Why there is no page: the URL, or the exchange.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("\"{url}\" is not a URL: {problem}")]
    NotAUrl { url: String, problem: url::ParseError },
    #[error("\"{url}\" must begin with http://; https exporters cannot be read yet")]
    NotHttp { url: String },
    #[error("\"{url}\" names no host")]
    NoHost { url: String },
    #[error("cannot connect to {host}: {problem}")]
    Connect { host: String, problem: std::io::Error },
    #[error("cannot ask {host} for {path}: {problem}")]
    Request { host: String, path: String, problem: hyper::http::Error },
    #[error("the exchange with {host} broke off: {problem}")]
    Exchange { host: String, problem: hyper::Error },
    #[error("{host}{path} responded with {status}")]
    Status { host: String, path: String, status: hyper::StatusCode },
    #[error("the response of {host}{path} broke off: {problem}")]
    Body { host: String, path: String, problem: Box<dyn std::error::Error + Send + Sync> },
}

/// Where to get from.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// # Errors
    /// What is wrong with the URL, which is named without its credentials.
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let shown = || without_credentials(text);
        let url = url::Url::parse(text).map_err(|problem| FetchError::NotAUrl { url: shown(), problem })?;
        if url.scheme() != "http" {
            return Err(FetchError::NotHttp { url: shown() });
        }
        let host = url.host_str().ok_or_else(|| FetchError::NoHost { url: shown() })?.to_owned();
        let path = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        Ok(Self { host, port: url.port().unwrap_or(80), path })
    }
}

/// # Errors
/// When there is no response of status 200.
pub(crate) async fn get(address: &Address, accept: &str) -> Result<Bytes, FetchError> {
    let Address { host, port, path } = address;
    let plain_host = host.trim_start_matches('[').trim_end_matches(']');
    let (host, path) = (format!("{host}:{port}"), path.clone());
    let connected = TcpStream::connect((plain_host, *port)).await;
    let stream = connected.map_err(|problem| FetchError::Connect { host: host.clone(), problem })?;
    let broken = |problem: hyper::Error| FetchError::Exchange { host: host.clone(), problem };
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let request = hyper::Request::get(path.as_str())
        .header("host", host.as_str())
        .header("accept", accept)
        .header("user-agent", concat!("loadstone/", env!("CARGO_PKG_VERSION")))
        .header("connection", "close")
        .body(Empty::<Bytes>::new())
        .map_err(|problem| FetchError::Request { host: host.clone(), path: path.clone(), problem })?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        if response.status() != 200 {
            return Err(FetchError::Status { host: host.clone(), path: path.clone(), status: response.status() });
        }
        let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
        body.map(|body| body.to_bytes()).map_err(|problem| FetchError::Body { host: host.clone(), path: path.clone(), problem })
    };
    // The connection drives the exchange; whichever ends it, the response counts.
    let mut exchange = std::pin::pin!(exchange);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        response = &mut exchange => response,
        ended = &mut connection => match ended {
            Ok(()) => exchange.await,
            Err(problem) => Err(broken(problem)),
        },
    }
}
