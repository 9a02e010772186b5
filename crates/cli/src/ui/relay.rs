//! Passes requests on to the live page of a run, so that one address and one token serve for everything.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use http_client::{HttpTarget, Request, RequestBody, Response};
use url::Url;

/// What a live page's requests are answered with. Anything else would be shown, or run, under the address of `loadstone ui`.
const CONTENT_TYPES: [&str; 2] = ["text/event-stream", "text/plain"];

/// Sends the request to `address` and hands back the answer as it comes, however long it goes on.
///
/// # Errors
/// A sentence when there is nobody there any more, or somebody else.
pub(crate) async fn pass(address: SocketAddr, request: Request<RequestBody>) -> Result<Response<Body>, String> {
    let gone = |problem: &dyn std::fmt::Display| format!("The run's own page does not answer: {problem}\n");
    let url = Url::parse(&format!("http://{address}/")).map_err(|problem| gone(&problem))?;
    let target = HttpTarget::of(&url).map_err(|problem| gone(&problem))?;
    // The connection ends with the answer's body, or when the reader goes and drops that.
    let answer = target.send(request).await.map_err(|problem| gone(&problem))?;
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !CONTENT_TYPES.contains(&content_type.split(';').next().unwrap_or_default().trim()) {
        return Err("What answers is not the run's own page.\n".to_owned());
    }
    Ok(answer.map(Body::new))
}
