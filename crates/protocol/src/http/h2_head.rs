//! The head of a request in HTTP/2 form.

use ::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, TRAILER};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

use super::content;
use super::message::Request;
use super::raw_bytes;
use super::trace::{self, TraceParent};
use crate::failure::Failure;

/// Validated and encoded for the connection. It is built once, and copied for each request if nothing varies.
#[derive(Debug, Clone)]
pub(crate) struct Http2Head {
    head: ::http::Request<()>,
    /// Sent after the body.
    trailers: Option<HeaderMap>,
    /// Size of its fields before compression, its method and its path.
    bytes: u64,
}

impl Http2Head {
    /// Omits headers that only exist in HTTP/1.1 (RFC 9113, section 8.2.2).
    ///
    /// # Errors
    /// HTTP/2 does not allow the method, the path or a header.
    pub(crate) fn of(request: &Request) -> Result<Self, Failure> {
        let mut authority = request.origin.authority();
        let mut head = ::http::Request::new(());
        *head.version_mut() = Version::HTTP_2;
        *head.method_mut() = Method::from_bytes(request.method.as_bytes()).map_err(|error| refused(&error.into()))?;
        let has_declined = request.headers.iter().any(|(name, value)| content::declines_codings(name, value));
        for (name, value) in request.headers.iter().filter(|(name, value)| !content::declines_codings(name, value)) {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| refused(&error.into()))?;
            match name.as_str() {
                "host" => value.clone_into(&mut authority),
                "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {}
                _ => {
                    let value = HeaderValue::from_bytes(&raw_bytes::to_bytes(value)).map_err(|error| refused(&error.into()))?;
                    head.headers_mut().append(name, value);
                }
            }
        }
        if !has_declined {
            head.headers_mut().entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static(content::ACCEPTED));
        }
        if !request.body.is_empty() {
            head.headers_mut().entry(CONTENT_LENGTH).or_insert(HeaderValue::from(request.body.len()));
        }
        let trailers = request.trailers.as_ref().map(|trailers| trailers.fields()).transpose().map_err(|error| refused(&error))?;
        if let Some(announcement) = request.trailers.as_ref().map(|trailers| trailers.announcement()) {
            // The names are tokens, which are always valid.
            head.headers_mut().entry(TRAILER).or_insert(HeaderValue::from_str(&announcement).map_err(|error| refused(&error.into()))?);
        }
        let scheme = if request.origin.tls { "https" } else { "http" };
        let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(&*request.path);
        *head.uri_mut() = uri.build().map_err(|error| refused(&error))?;
        let bytes = fields_bytes(head.headers()) + (request.path.len() + request.method.len()) as u64;
        Ok(Self { head, trailers, bytes })
    }

    /// The fields after the body.
    pub(super) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// A copy to send, and its size in bytes. `added`: a header that is not part of the original request.
    pub(super) fn to_send(&self, added: Option<TraceParent>) -> (::http::Request<()>, u64) {
        let mut head = self.head.clone();
        // The value consists of digits and hyphens, which are always valid.
        let Some(value) = added.and_then(|added| HeaderValue::from_str(&added.value()).ok()) else { return (head, self.bytes) };
        let bytes = self.bytes + (trace::NAME.len() + value.len()) as u64;
        head.headers_mut().append(HeaderName::from_static(trace::NAME), value);
        (head, bytes)
    }
}

fn refused(_: &::http::Error) -> Failure {
    Failure::unsendable("the request cannot be sent: HTTP/2 does not allow its method, path or headers")
}

/// Names and values before compression.
pub(crate) fn fields_bytes(headers: &HeaderMap) -> u64 {
    headers.iter().map(|(name, value)| (name.as_str().len() + value.len()) as u64).sum()
}
