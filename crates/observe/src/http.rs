//! One GET over HTTP/1.1, for exporters.

use loadstone_http_client::{Bytes, HttpError, HttpTarget, HttpTargetError, Method, StatusCode, header};
use url::Url;

use crate::description::without_credentials;

/// Larger responses are refused. Bytes.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Why there is no page: the URL, or the exchange.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("\"{url}\" is not a URL: {problem}")]
    NotAUrl { url: String, problem: url::ParseError },
    #[error("\"{url}\" must begin with http://: https is not supported yet")]
    NotHttp { url: String },
    #[error("\"{url}\" cannot be called: {problem}")]
    Target { url: String, problem: HttpTargetError },
    #[error(transparent)]
    Exchange(#[from] HttpError),
    #[error("{authority}{path} responded with {status}")]
    Status { authority: String, path: String, status: StatusCode },
}

/// The resource to fetch.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    target: HttpTarget,
}

impl Address {
    /// # Errors
    /// What is wrong with the URL, which is named without its credentials.
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let shown = || without_credentials(text);
        let url = Url::parse(text).map_err(|problem| FetchError::NotAUrl { url: shown(), problem })?;
        if url.scheme() != "http" {
            return Err(FetchError::NotHttp { url: shown() });
        }
        let target = HttpTarget::of(&url).map_err(|problem| FetchError::Target { url: shown(), problem })?;
        Ok(Self { target })
    }
}

/// # Errors
/// When there is no response of status 200.
pub(crate) async fn get(address: &Address, accept: &'static str) -> Result<Bytes, FetchError> {
    let target = &address.target;
    let mut request = target.request(Method::GET, "");
    request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static(accept));
    let response = target.send(request).await?;
    if response.status() != 200 {
        return Err(FetchError::Status {
            authority: target.authority().to_owned(),
            path: target.path().to_owned(),
            status: response.status(),
        });
    }
    Ok(response.into_body().bytes(BODY_BYTES_MAX).await?)
}
