//! One GET over HTTP/1.1, for exporters.

use http_client::{Bytes, HttpError, HttpTarget, Method, header};
use url::Url;

/// Larger responses are refused. Bytes.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Where to get from.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    target: HttpTarget,
}

impl Address {
    /// # Errors
    /// A sentence about what is wrong with the URL.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|problem| format!("\"{text}\" is not a URL: {problem}"))?;
        if url.scheme() != "http" {
            return Err(format!("\"{text}\" must begin with http://; https exporters are not read yet"));
        }
        let target = HttpTarget::of(&url).map_err(|problem| format!("\"{text}\" cannot be called: {problem}"))?;
        Ok(Self { target })
    }
}

/// # Errors
/// A sentence when there is no answer of status 200.
pub(crate) async fn get(address: &Address, accept: &'static str) -> Result<Bytes, String> {
    let target = &address.target;
    let mut request = target.request(Method::GET, "");
    request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static(accept));
    let said = |error: HttpError| error.to_string();
    let response = target.send(request).await.map_err(said)?;
    if response.status() != 200 {
        return Err(format!("{}{} answered {}", target.authority(), target.path(), response.status()));
    }
    response.into_body().bytes(BODY_BYTES_MAX).await.map_err(said)
}
