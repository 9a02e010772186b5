//! One GET over HTTP/1.1, for exporters.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Larger answers are refused. Bytes.
const BODY_MAX: usize = 16 << 20;

/// Where to get from.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    /// # Errors
    /// A sentence about what is wrong with the URL.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = url::Url::parse(text).map_err(|problem| format!("\"{text}\" is not a URL: {problem}"))?;
        if url.scheme() != "http" {
            return Err(format!("\"{text}\" must begin with http://; https exporters are not read yet"));
        }
        let host = url.host_str().ok_or_else(|| format!("\"{text}\" names no host"))?.to_owned();
        let path = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        Ok(Self { host, port: url.port().unwrap_or(80), path })
    }
}

/// # Errors
/// A sentence when there is no answer of status 200.
pub(crate) async fn get(address: &Address, accept: &str) -> Result<Bytes, String> {
    let Address { host, port, path } = address;
    let plain_host = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((plain_host, *port)).await.map_err(|problem| format!("cannot connect to {host}:{port}: {problem}"))?;
    let broken = |problem: hyper::Error| format!("the exchange with {host}:{port} broke off: {problem}");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let request = hyper::Request::get(path.as_str())
        .header("host", format!("{host}:{port}"))
        .header("accept", accept)
        .header("user-agent", concat!("loadstone/", env!("CARGO_PKG_VERSION")))
        .header("connection", "close")
        .body(Empty::<Bytes>::new())
        .map_err(|problem| format!("cannot ask {host}:{port} for {path}: {problem}"))?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        if response.status() != 200 {
            return Err(format!("{host}:{port}{path} answered {}", response.status()));
        }
        let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
        body.map(|body| body.to_bytes()).map_err(|problem| format!("the answer of {host}:{port}{path} broke off: {problem}"))
    };
    // The connection drives the exchange; whichever ends it, the answer counts.
    let mut exchange = std::pin::pin!(exchange);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        answer = &mut exchange => answer,
        ended = &mut connection => match ended {
            Ok(()) => exchange.await,
            Err(problem) => Err(broken(problem)),
        },
    }
}
