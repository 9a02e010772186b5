//! The answer to a call, and how its status is sent.

use std::fmt::Write;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::answer::{GrpcAnswer, GrpcContent, INTERNAL};
use crate::endpoint::header_map;
use crate::visit::ServerState;
use crate::{Reply, StubRequest};

pub(super) fn rejection(status: u16) -> GrpcAnswer {
    GrpcAnswer::status(status, "the request exceeds a limit of this stub")
}

pub(super) fn failure(status: u16) -> GrpcAnswer {
    GrpcAnswer::status(status, "a deliberate fault of this stub")
}

/// The answer of a method: from its function, or from its behaviour.
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
        // A function that failed describes the failure in its details.
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

/// The fields that follow the messages.
pub(super) fn trailers(answer: &GrpcAnswer) -> HeaderMap {
    // A description with invalid fields is rejected at the start. Invalid fields from a function are reported in place of its status.
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

/// Percent-encodes the percent sign and all but printable ASCII (grpc/grpc, doc/PROTOCOL-HTTP2.md, Status-Message).
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
