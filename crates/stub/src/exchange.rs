//! Common parts of HTTP and gRPC: a request's head as a value, and the guards that a response holds until it has been sent.

use bytes::Bytes;
use hyper::Response as HttpResponse;
use hyper::http::request::Parts;

use crate::StubRequest;
use crate::body::OutgoingBody;
use crate::limit::Permit;
use crate::visit::{Moments, Visit};

/// Maximum length of a request's body. Bytes.
pub(crate) const REQUEST_BODY_MAX: usize = 64 << 20;

pub(crate) type ExchangeGuards = (Option<Visit>, Option<Permit>);
pub(crate) type Answer = HttpResponse<OutgoingBody<ExchangeGuards>>;

pub(crate) fn request_value(
    head: &Parts,
    parameters: Vec<(String, String)>,
    body: Bytes,
    Moments { arrived_ns, due_ns, sequence }: Moments,
) -> StubRequest {
    let headers =
        head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    StubRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        parameters,
        headers: headers.collect(),
        body,
        messages: Vec::new(),
        arrived_ns,
        due_ns,
        sequence,
    }
}
