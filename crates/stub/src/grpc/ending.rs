//! What a call is answered with, and how its status goes out.

use std::fmt::Write;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::answer::{GrpcAnswer, GrpcContent, INTERNAL};
use crate::endpoint::header_map;
use crate::visit::ServerState;
use crate::{Reply, StubRequest};

pub(super) fn rejection(status: u16) -> GrpcAnswer {
    GrpcAnswer::status(status, "a limit of this stub is reached")
}

pub(super) fn failure(status: u16) -> GrpcAnswer {
    GrpcAnswer::status(status, "a fault of this stub, on purpose")
}

/// What a method answers: its function, or its behaviour.
pub(super) fn answered(
    state: &ServerState,
    index: usize,
    content: &GrpcContent,
    reply: Reply,
    request: Option<StubRequest>,
) -> (HeaderMap, GrpcAnswer) {
    let mut headers = state.endpoints[index].headers.clone();
    let answer = match reply {
        Reply { grpc: Some(answer), headers: own, .. } => header_map(&own).map(|own| (own, answer)),
        // A function that failed says so in words.
        Reply { status: Some(_), body, .. } => {
            let details = body.map(|body| String::from_utf8_lossy(&body).trim_end().to_owned()).unwrap_or_default();
            Ok((HeaderMap::new(), GrpcAnswer::status(INTERNAL, details)))
        }
        _ => Ok((HeaderMap::new(), content.source.answer(request.as_ref().map_or(&[], |request| &request.messages)))),
    };
    match answer {
        Ok((own, answer)) => {
            own.keys().for_each(|name| drop(headers.remove(name)));
            for (name, value) in &own {
                headers.append(name.clone(), value.clone());
            }
            (headers, answer)
        }
        Err(problem) => (headers, GrpcAnswer::status(INTERNAL, problem.to_string())),
    }
}

/// What stands behind the messages.
pub(super) fn trailers(answer: &GrpcAnswer) -> HeaderMap {
    // Whoever described the stub has been told of what cannot be sent; a function's is told in place of its status.
    let (mut fields, status, details) = match header_map(&answer.trailers) {
        Ok(fields) => (fields, answer.status, answer.details.clone()),
        Err(problem) => (HeaderMap::new(), INTERNAL, problem.to_string()),
    };
    fields.insert(HeaderName::from_static("grpc-status"), HeaderValue::from(status));
    if !details.is_empty()
        && let Ok(details) = HeaderValue::from_str(&percent_encoded(&details))
    {
        fields.insert(HeaderName::from_static("grpc-message"), details);
    }
    fields
}

/// What is not printable ASCII, and the percent sign (grpc/grpc, doc/PROTOCOL-HTTP2.md, Status-Message).
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | ..b' ' | 0x7f.. => drop(write!(encoded, "%{byte:02X}")),
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}
