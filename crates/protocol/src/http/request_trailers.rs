//! Trailers of a request: header fields after its body.
//!
//! HTTP/1.1 can only send them after a chunked body (RFC 9112, section 7.1.2). The chunks share the bytes of the body.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::body::SharedBody;

/// Fields that a recipient needs before the body (RFC 9110, section 6.5.1).
const NEEDED_BEFORE: [&str; 6] = ["connection", "content-length", "host", "te", "trailer", "transfer-encoding"];

/// Trailers, with the body that they follow.
#[derive(Debug, Clone)]
pub struct RequestTrailers {
    lines: Vec<(String, String)>,
    /// The body in chunks, and the trailers.
    chunked: SharedBody,
}

impl RequestTrailers {
    /// `lines` are validated with the rest of the request.
    pub fn new(lines: Vec<(String, String)>, body: &SharedBody) -> Self {
        let mut pieces = Vec::new();
        for piece in body.pieces().iter().filter(|piece| !piece.is_empty()) {
            pieces.extend([Bytes::from(format!("{:x}\r\n", piece.len())), piece.clone(), Bytes::from_static(b"\r\n")]);
        }
        let mut end = b"0\r\n".to_vec();
        for (name, value) in &lines {
            for part in [name, ": ", value, "\r\n"] {
                end.extend_from_slice(part.as_bytes());
            }
        }
        end.extend_from_slice(b"\r\n");
        pieces.push(end.into());
        Self { lines, chunked: SharedBody::of_pieces(pieces) }
    }

    pub(super) fn lines(&self) -> &[(String, String)] {
        &self.lines
    }

    pub(super) fn chunked(&self) -> &SharedBody {
        &self.chunked
    }

    /// The value of the `Trailer` header, which announces them (RFC 9110, section 6.6.2).
    pub(super) fn announcement(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.lines {
            if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// The name of a field that cannot follow a body.
    pub(super) fn misplaced(&self) -> Option<&str> {
        let is_misplaced = |name: &&str| NEEDED_BEFORE.iter().any(|needed| name.eq_ignore_ascii_case(needed));
        self.lines.iter().map(|(name, _)| name.as_str()).find(is_misplaced)
    }

    /// For HTTP/2.
    pub(super) fn fields(&self) -> Result<HeaderMap, http::Error> {
        let mut fields = HeaderMap::new();
        for (name, value) in &self.lines {
            fields.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_bytes(value.as_bytes())?);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_share_the_pieces_of_the_body() {
        let body = SharedBody::of_pieces(["", "hello", "0123456789abcdef"].map(Bytes::from).to_vec());
        let lines = [("X-Sum", "1"), ("x-sum", "2"), ("Z", "")].map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let trailers = RequestTrailers::new(lines, &body);
        assert_eq!(trailers.chunked().to_vec(), b"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\nZ: \r\n\r\n");
        assert_eq!((trailers.announcement().as_str(), trailers.misplaced()), ("X-Sum, Z", None));
        let empty = RequestTrailers::new(vec![("Host".to_owned(), "h".to_owned())], &SharedBody::default());
        assert_eq!((empty.chunked().to_vec().as_slice(), empty.misplaced()), (&b"0\r\nHost: h\r\n\r\n"[..], Some("Host")));
    }
}
