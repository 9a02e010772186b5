//! HTTP calls of Loadstone itself: to exporters that it reads, to outputs that it writes, to the live page of a run.
//!
//! Read [`HttpTarget`] first. Each call uses one connection, HTTP/1.1, with TLS if the URL requires it. The caller sets a limit on every wait and
//! every size ([`within`], [`StreamedBody::bytes`]). Deliberately absent: the load itself, whose clients measure (`protocol`), and therefore
//! kept-alive connections, redirects, cookies, retries.

mod body;
mod error;
mod target;

use std::time::Duration;

pub use body::{RequestBody, StreamedBody};
pub use bytes::Bytes;
pub use error::{HttpError, HttpTargetError};
pub use hyper::{HeaderMap, Method, Request, Response, StatusCode, header};
pub use target::HttpTarget;

/// The call's result, or [`HttpError::Timeout`] after `limit`. Needs a tokio runtime with timers.
///
/// # Errors
/// Those of the call, and the timeout.
pub async fn within<T>(limit: Duration, call: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
    tokio::time::timeout(limit, call).await.unwrap_or(Err(HttpError::Timeout { limit }))
}
