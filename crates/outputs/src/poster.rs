//! HTTP POST for outputs: one URL, a time limit, and the receiver's message when it refuses.

use std::time::Duration;

use loadstone_http_client::header::{HeaderName, HeaderValue};
use loadstone_http_client::{Bytes, HeaderMap, HttpError, HttpTarget, StatusCode, within};
use tokio::runtime::Runtime;
use url::Url;

use crate::sink::{DeliveryError, SinkError};

/// Time limit for connecting, sending and the response together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an error response. Bytes.
const RESPONSE_BYTES_MAX: usize = 64 << 10;
const RESPONSE_CHARS_SHOWN: usize = 200;

/// Posts to one URL.
pub(crate) struct Poster {
    runtime: Runtime,
    target: HttpTarget,
    headers: HeaderMap,
}

impl Poster {
    /// `headers` and the user's `given` headers are sent with every request. A user and password in the URL become basic authentication.
    ///
    /// # Errors
    /// When the URL, a header or this machine's TLS cannot be used.
    pub(crate) fn new(url: &Url, headers: &[(&str, &str)], given: &[(String, String)]) -> Result<Self, SinkError> {
        let mut all = HeaderMap::new();
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in headers.iter().copied().chain(given) {
            let name = HeaderName::try_from(name).map_err(|_| SinkError::HeaderName(name.to_owned()))?;
            let value = HeaderValue::try_from(value).map_err(|_| SinkError::HeaderValue(name.to_string()))?;
            all.insert(name, value);
        }
        let target = HttpTarget::of(url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, target, headers: all })
    }

    /// Sends one request. Any status but success is an error that quotes the receiver's message.
    pub(crate) fn post(&self, body: Vec<u8>) -> Result<(), DeliveryError> {
        let (status, message) = self
            .runtime
            .block_on(within(TIMEOUT, self.exchange(body.into())))
            .map_err(|error| DeliveryError { text: error.to_string(), is_transient: true })?;
        if status.is_success() {
            return Ok(());
        }
        let message: String = String::from_utf8_lossy(&message).trim().chars().take(RESPONSE_CHARS_SHOWN).collect();
        // The receiver would refuse a retry, too, unless it is overloaded or broken.
        let is_transient = status.is_server_error() || status.as_u16() == 429;
        Err(DeliveryError { text: format!("it answered {status}{}{message}", if message.is_empty() { "" } else { ": " }), is_transient })
    }

    async fn exchange(&self, body: Bytes) -> Result<(StatusCode, Bytes), HttpError> {
        let mut request = self.target.request(loadstone_http_client::Method::POST, body);
        request.headers_mut().extend(self.headers.clone());
        let response = self.target.send(request).await?;
        let status = response.status();
        // The status shows whether the data arrived; the body only explains a failure.
        let message = response.into_body().bytes(RESPONSE_BYTES_MAX).await.unwrap_or_default();
        Ok((status, message))
    }
}
