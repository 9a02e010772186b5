//! Passes requests on to the live page of a run, so that one address and one token serve for everything.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Sends the request to `address` (host and port) and hands back the answer as it comes, however long it goes on.
///
/// # Errors
/// A sentence when there is nobody there any more.
pub(crate) async fn pass(address: &str, mut request: Request<Full<Bytes>>) -> Result<Response<Body>, String> {
    let gone = |problem: &dyn std::fmt::Display| format!("The run's own page does not answer: {problem}\n");
    let stream = TcpStream::connect(address).await.map_err(|problem| gone(&problem))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|problem| gone(&problem))?;
    // It ends with the answer's body, or when the reader goes and drops that.
    tokio::spawn(connection);
    let host = hyper::header::HeaderValue::from_str(address).map_err(|problem| gone(&problem))?;
    request.headers_mut().insert(hyper::header::HOST, host);
    let answer = sender.send_request(request).await.map_err(|problem| gone(&problem))?;
    Ok(answer.map(Body::new))
}
