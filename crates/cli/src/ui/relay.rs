//! Passes requests on to the live page of a run, so that one address and one token serve for everything.

use axum::body::Body;
use http_client::{HttpTarget, Request, RequestBody, Response};
use url::Url;

/// Sends the request to `address` (host and port) and hands back the answer as it comes, however long it goes on.
///
/// # Errors
/// A sentence when there is nobody there any more.
pub(crate) async fn pass(address: &str, request: Request<RequestBody>) -> Result<Response<Body>, String> {
    let gone = |problem: &dyn std::fmt::Display| format!("The run's own page does not answer: {problem}\n");
    let url = Url::parse(&format!("http://{address}/")).map_err(|problem| gone(&problem))?;
    let target = HttpTarget::of(&url).map_err(|problem| gone(&problem))?;
    // The connection ends with the answer's body, or when the reader goes and drops that.
    let answer = target.send(request).await.map_err(|problem| gone(&problem))?;
    Ok(answer.map(Body::new))
}
