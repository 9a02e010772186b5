//! The status that every call ends with.

use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;
use crate::http::Headers;

/// How a call ended, according to the server ("Status codes and their use in gRPC").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrpcStatus(u8);

const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl GrpcStatus {
    pub const OK: Self = Self(0);
    pub const CANCELLED: Self = Self(1);
    const UNKNOWN: Self = Self(2);
    pub const RESOURCE_EXHAUSTED: Self = Self(8);
    pub const UNIMPLEMENTED: Self = Self(12);

    /// All names, by code.
    pub const NAMES: &'static [&'static str] = &NAMES;

    /// As in `grpc-status`.
    pub fn code(self) -> u8 {
        self.0
    }

    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or("UNKNOWN")
    }

    /// A code from `grpc-status`. An unknown code is UNKNOWN, as the specification requires.
    fn of_code(written: &str) -> Option<Self> {
        let code: u32 = written.parse().ok()?;
        Some(u8::try_from(code).ok().filter(|code| usize::from(*code) < NAMES.len()).map_or(Self::UNKNOWN, Self))
    }

    /// The status of a response without a `grpc-status`, which an intermediary sent ("HTTP to gRPC Status Code Mapping").
    fn of_http(status: u16) -> Self {
        Self(match status {
            400 => 13,
            401 => 16,
            403 => 7,
            404 => 12,
            429 | 502 | 503 | 504 => 14,
            _ => 2,
        })
    }
}

impl FromStr for GrpcStatus {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        NAMES.iter().position(|known| *known == name).and_then(|code| u8::try_from(code).ok()).map(Self).ok_or(())
    }
}

impl fmt::Display for GrpcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fields with a call's status. A server without a message may put them into the head ("Trailers-Only").
pub fn trailers_of<'a>(headers: &'a Headers, trailers: &'a Headers) -> &'a Headers {
    if trailers.is_empty() && headers.get("grpc-status").is_some() { headers } else { trailers }
}

/// The status of a response and its message.
pub(super) fn of_response(http: u16, headers: &Headers, trailers: &Headers) -> Result<(GrpcStatus, String), Failure> {
    let fields = trailers_of(headers, trailers);
    match fields.get("grpc-status") {
        Some(code) => {
            let status = GrpcStatus::of_code(code).ok_or_else(|| Failure::protocol("the response's grpc-status is not a number"))?;
            Ok((status, fields.get("grpc-message").map(decoded).unwrap_or_default()))
        }
        None if http == 200 => Err(Failure::protocol("the response ended without a grpc-status")),
        None => Ok((GrpcStatus::of_http(http), format!("HTTP status {http} without a grpc-status"))),
    }
}

/// # Errors
/// The response is not gRPC.
pub(super) fn check_content_type(headers: &Headers) -> Result<(), Failure> {
    let is_grpc = headers.get("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
    if is_grpc { Ok(()) } else { Err(Failure::protocol("the response is not gRPC: it has a different content-type")) }
}

/// `grpc-message` is percent-encoded UTF-8. Invalid escapes are kept unchanged.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = (*byte == b'%').then(|| text.get(at + 1..at + 3)).flatten().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex {
            Some(decoded) => {
                plain.push(decoded);
                at += 3;
            }
            None => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Headers {
        lines.iter().copied().collect()
    }

    #[test]
    fn the_status_is_in_the_trailers_or_alone_in_the_head() {
        let read = |http, headers: &[(&str, &str)], trailers: &[(&str, &str)]| of_response(http, &fields(headers), &fields(trailers));
        let status = |name: &str, words: &str| Ok((name.parse().unwrap(), words.to_owned()));
        assert_eq!(read(200, &[], &[("grpc-status", "0")]), status("OK", ""));
        assert_eq!(read(200, &[("grpc-status", "5"), ("grpc-message", "no%20such%20%C3%BC%zz")], &[]), status("NOT_FOUND", "no such ü%zz"));
        assert_eq!(read(200, &[], &[("grpc-status", "99")]), status("UNKNOWN", ""));
        assert_eq!(read(503, &[], &[]), status("UNAVAILABLE", "HTTP status 503 without a grpc-status"));
        assert_eq!(read(404, &[], &[]).unwrap().0.name(), "UNIMPLEMENTED");
        assert!(read(200, &[], &[]).is_err() && read(200, &[], &[("grpc-status", "no")]).is_err());
    }
}
