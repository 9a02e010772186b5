//! What HTTP messages contain beyond their framing: header fields, cookies, redirects, content codings, and the heads of HTTP/2.

use std::iter;

use bytes::Bytes;

use super::pieces;
use crate::http::fuzzing::{Headers, decode, resolved_location, stored_cookies};
use crate::http2::fuzzing::responses;

/// Output of a decoded body. Bytes.
const DECODED_BYTES_MAX: u64 = 1 << 20;
/// The longest prefix of the input that names codings. Bytes.
const CODINGS_BYTES_MAX: usize = 40;

/// A head: its fields, cookies and redirect.
pub fn head(input: &[u8]) {
    let headers = Headers::from_head(Bytes::copy_from_slice(input), true);
    let lines: Vec<(&str, &str)> = headers.iter().collect();
    for (name, value) in &lines {
        assert!(!value.contains(['\n', '\r']) || name.contains('\r') || value.contains('\r'), "a line feed in {name}");
    }
    let sent = stored_cookies(&headers);
    assert!(sent.as_deref().is_none_or(|value| !value.contains(['\n', '\0'])), "a cookie splits the request: {sent:?}");
    if let Some(url) = resolved_location(&headers) {
        assert!(!url.as_str().contains([' ', '\r', '\n']), "a location splits the request: {url}");
    }
}

/// A compressed body. The first line has the codings, and the rest is the body.
pub fn codings(input: &[u8]) {
    let end = input.iter().take(CODINGS_BYTES_MAX).position(|byte| *byte == b'\n').unwrap_or(0);
    let (codings, body) = input.split_at(end);
    let body = Bytes::copy_from_slice(body.get(1..).unwrap_or_default());
    if let Ok(decoded) = decode(body.clone(), &String::from_utf8_lossy(codings), DECODED_BYTES_MAX) {
        assert!(decoded.len() as u64 <= DECODED_BYTES_MAX.max(body.len() as u64));
    }
}

/// What a server sends on a connection of HTTP/2.
pub fn http2(input: &[u8]) {
    let (cuts, bytes) = pieces(input);
    let (whole, answered) = responses(iter::once(bytes));
    let mut rest = bytes;
    let cut = cuts.map_while(|cut| {
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    });
    assert_eq!(whole, responses(cut).0);
    // The answer to a frame is not longer than the frame, apart from the end of the connection.
    assert!(answered <= bytes.len() + 64, "the client answers {} bytes with {answered}", bytes.len());
}
