//! The head of a request in HTTP/2 form.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use memchr::memchr_iter;

use super::content;
use super::message::Request;
use super::raw_bytes;
use crate::failure::Failure;
use crate::http2::HeadFields;

/// Validated. It is built once for requests that do not vary.
#[derive(Debug, Clone)]
pub(crate) struct Http2Head {
    /// A line for each name and each value, without `:path`.
    lines: Vec<u8>,
    /// `None` for the method CONNECT.
    path: Option<String>,
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
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| refused())?;
        let mut fields: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(request.headers.len() + 3);
        let has_declined = request.headers.iter().any(|(name, value)| content::declines_codings(name, value));
        for (name, value) in request.headers.iter().filter(|(name, value)| !content::declines_codings(name, value)) {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            match name.as_str() {
                "host" => value.clone_into(&mut authority),
                "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {}
                "te" if value != "trailers" => {}
                _ => fields.push((name, HeaderValue::from_bytes(&raw_bytes::to_bytes(value)).map_err(|_| refused())?)),
            }
        }
        let mut add_missing = |name: &'static str, value: HeaderValue| {
            if !fields.iter().any(|(known, _)| known == name) {
                fields.push((HeaderName::from_static(name), value));
            }
        };
        if !has_declined {
            add_missing("accept-encoding", HeaderValue::from_static(content::ACCEPTED));
        }
        if !request.body.is_empty() {
            add_missing("content-length", HeaderValue::from(request.body.len()));
        }
        let trailers = request.trailers.as_ref().map(|trailers| trailers.fields()).transpose().map_err(|_| refused())?;
        if let Some(announcement) = request.trailers.as_ref().map(|trailers| trailers.announcement()) {
            // The names are tokens, which are always valid.
            add_missing("trailer", HeaderValue::from_str(&announcement).map_err(|_| refused())?);
        }
        let scheme = if request.origin.tls { "https" } else { "http" };
        let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(&*request.path).build().map_err(|_| refused())?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let is_connect = method == Method::CONNECT;
        let mut lines = Vec::with_capacity(256);
        push(&mut lines, b":method", method.as_str().as_bytes());
        if !is_connect {
            push(&mut lines, b":scheme", scheme.as_bytes());
        }
        push(&mut lines, b":authority", uri.authority().map_or("", |authority| authority.as_str()).as_bytes());
        let mut bytes = (request.path.len() + request.method.len()) as u64;
        for (name, value) in &fields {
            push(&mut lines, name.as_str().as_bytes(), value.as_bytes());
            bytes += (name.as_str().len() + value.len()) as u64;
        }
        Ok(Self { lines, path: (!is_connect).then(|| path.to_owned()), trailers, bytes })
    }

    /// The fields after the body.
    pub(super) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// Size before compression.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Neither contains a line feed.
fn push(lines: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        lines.extend_from_slice(part);
        lines.push(b'\n');
    }
}

impl HeadFields for Http2Head {
    fn fixed(&self) -> &[u8] {
        &self.lines
    }

    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut ends = memchr_iter(b'\n', &self.lines);
        let mut start = 0;
        std::iter::from_fn(move || {
            let (name_end, value_end) = (ends.next()?, ends.next()?);
            let field = (&self.lines[start..name_end], &self.lines[name_end + 1..value_end]);
            start = value_end + 1;
            Some(field)
        })
    }
}

fn refused() -> Failure {
    Failure::unsendable("the request cannot be sent: HTTP/2 does not allow its method, path or headers")
}

/// Names and values before compression.
pub(super) fn fields_bytes(headers: &HeaderMap) -> u64 {
    headers.iter().map(|(name, value)| (name.as_str().len() + value.len()) as u64).sum()
}
