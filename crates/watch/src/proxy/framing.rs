//! Where the messages of an HTTP/1.1 connection begin and end (RFC 9112), in bytes as they arrive. httparse reads heads, chunk sizes and trailers.
//!
//! Read [`MessageFraming::next`]. The bytes are forwarded as they are, whatever this file makes of them. Deliberately absent: HTTP/2, and everything else
//! that heads say.

use std::ops::Range;

use httparse::{EMPTY_HEADER, Header, Status};

use crate::formats::request_name;

/// The longest head, or trailers. Bytes.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;
/// The longest line with the size of a chunk. Bytes.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;
const HEADERS_MAX: usize = 128;
/// How an HTTP/2 connection begins (RFC 9113, 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// What the messages of one direction are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request,
    /// The response to a request with this method.
    Response(FramedMethod),
}

/// Methods whose responses end differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramedMethod {
    Head,
    Connect,
    Other,
}

/// Consecutive bytes of one message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FramedPart {
    pub(super) bytes: usize,
    pub(super) head: Option<MessageHead>,
    /// The message ends with these bytes.
    pub(super) ends: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum MessageHead {
    Request {
        method: FramedMethod,
        name: String,
        /// The value of `Host` in the bytes of the head.
        host: Option<Range<usize>>,
    },
    /// A response before the final one: 100 Continue, 103 Early Hints.
    Interim,
    Response {
        status: u16,
        /// From its end on, both directions carry another protocol.
        switches: bool,
    },
}

/// The bytes are not those of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotHttp(pub(super) &'static str);

/// The position within the messages of one direction.
#[derive(Debug, Default)]
pub(super) struct MessageFraming(FramingPosition);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FramingPosition {
    #[default]
    Head,
    Body {
        left: u64,
    },
    ChunkSize,
    /// A chunk and the line break after it.
    Chunk {
        left: u64,
    },
    Trailers,
    UntilClose,
}

impl MessageFraming {
    /// The next part of the message that `input` continues. `None`: more bytes are needed.
    pub(super) fn next(&mut self, input: &[u8], kind: MessageKind) -> Result<Option<FramedPart>, NotHttp> {
        if input.is_empty() {
            return Ok(None);
        }
        match self.0 {
            FramingPosition::Head => match kind {
                MessageKind::Request => self.request(input),
                MessageKind::Response(method) => self.response(input, method),
            },
            FramingPosition::Body { left } => {
                let bytes = left.min(input.len() as u64);
                self.0 = if bytes == left { FramingPosition::Head } else { FramingPosition::Body { left: left - bytes } };
                Ok(Some(FramedPart { bytes: bytes as usize, head: None, ends: bytes == left }))
            }
            FramingPosition::Chunk { left } => {
                let bytes = left.min(input.len() as u64);
                self.0 = if bytes == left { FramingPosition::ChunkSize } else { FramingPosition::Chunk { left: left - bytes } };
                Ok(Some(FramedPart { bytes: bytes as usize, head: None, ends: false }))
            }
            FramingPosition::ChunkSize => self.chunk_size(input),
            FramingPosition::Trailers => self.trailers(input),
            FramingPosition::UntilClose => Ok(Some(FramedPart { bytes: input.len(), head: None, ends: false })),
        }
    }

    /// Whether the end of the connection ends the message, too.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.0 == FramingPosition::UntilClose
    }

    /// Whether the next byte is the first of a message, or one of its head.
    pub(super) fn is_between(&self) -> bool {
        self.0 == FramingPosition::Head
    }

    fn request(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let bytes = match request.parse(input) {
            Ok(Status::Complete(bytes)) => bytes,
            Ok(Status::Partial) => return incomplete(input),
            Err(_) if input.starts_with(HTTP2_PREFACE) => return Err(NotHttp("HTTP/2, which the proxy passes on without recording it")),
            Err(_) => return Err(NotHttp("bytes that are no HTTP/1.1 request")),
        };
        let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let name = request_name::of_url(method, target);
        let method = match method {
            "HEAD" => FramedMethod::Head,
            "CONNECT" => FramedMethod::Connect,
            _ => FramedMethod::Other,
        };
        let host = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("host"));
        let host = host.map(|header| {
            let begin = header.value.as_ptr() as usize - input.as_ptr() as usize;
            begin..begin + header.value.len()
        });
        self.0 = match body(request.headers)? {
            BodyLength::Chunked => FramingPosition::ChunkSize,
            BodyLength::Bytes(0) | BodyLength::Unstated => FramingPosition::Head,
            BodyLength::Bytes(left) => FramingPosition::Body { left },
        };
        let ends = self.0 == FramingPosition::Head;
        Ok(Some(FramedPart { bytes, head: Some(MessageHead::Request { method, name, host }), ends }))
    }

    fn response(&mut self, input: &[u8], to: FramedMethod) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let bytes = match response.parse(input) {
            Ok(Status::Complete(bytes)) => bytes,
            Ok(Status::Partial) => return incomplete(input),
            Err(_) => return Err(NotHttp("bytes that are no HTTP/1.1 response")),
        };
        let status = response.code.unwrap_or_default();
        if (100..200).contains(&status) && status != 101 {
            return Ok(Some(FramedPart { bytes, head: Some(MessageHead::Interim), ends: false }));
        }
        let switches = status == 101 || (to == FramedMethod::Connect && (200..300).contains(&status));
        let has_no_body = switches || to == FramedMethod::Head || matches!(status, 204 | 304);
        self.0 = match body(response.headers)? {
            _ if has_no_body => FramingPosition::Head,
            BodyLength::Chunked => FramingPosition::ChunkSize,
            BodyLength::Bytes(0) => FramingPosition::Head,
            BodyLength::Bytes(left) => FramingPosition::Body { left },
            BodyLength::Unstated => FramingPosition::UntilClose,
        };
        let ends = self.0 == FramingPosition::Head;
        Ok(Some(FramedPart { bytes, head: Some(MessageHead::Response { status, switches }), ends }))
    }

    fn chunk_size(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        match httparse::parse_chunk_size(input) {
            Ok(Status::Complete((bytes, size))) => {
                // The line break after a chunk is no part of its size.
                self.0 = if size == 0 { FramingPosition::Trailers } else { FramingPosition::Chunk { left: size.saturating_add(2) } };
                Ok(Some(FramedPart { bytes, head: None, ends: false }))
            }
            Ok(Status::Partial) if input.len() <= CHUNK_LINE_BYTES_MAX => Ok(None),
            _ => Err(NotHttp("a body with a malformed chunk")),
        }
    }

    fn trailers(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        match httparse::parse_headers(input, &mut headers) {
            Ok(Status::Complete((bytes, _))) => {
                self.0 = FramingPosition::Head;
                Ok(Some(FramedPart { bytes, head: None, ends: true }))
            }
            Ok(Status::Partial) => incomplete(input),
            Err(_) => Err(NotHttp("a body with malformed trailers")),
        }
    }
}

fn incomplete(input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
    if input.len() > HEAD_BYTES_MAX { Err(NotHttp("a head of over 64 KiB")) } else { Ok(None) }
}

enum BodyLength {
    Chunked,
    Bytes(u64),
    Unstated,
}

/// The length of a body by its headers (RFC 9112, 6.3): chunks take precedence, and equal lengths may be repeated.
fn body(headers: &[Header<'_>]) -> Result<BodyLength, NotHttp> {
    let values = |name: &'static str| {
        let of_name = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        of_name.flat_map(|header| header.value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
    };
    if let Some(last) = values("transfer-encoding").next_back() {
        // Any other last coding of a response lasts until its end (RFC 9112, 6.3, 4).
        return Ok(if last.eq_ignore_ascii_case(b"chunked") { BodyLength::Chunked } else { BodyLength::Unstated });
    }
    let mut length = None;
    for value in values("content-length") {
        let bytes = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let bytes = bytes.and_then(|text| text.parse::<u64>().ok()).ok_or(NotHttp("a malformed Content-Length"))?;
        if length.is_some_and(|other| other != bytes) {
            return Err(NotHttp("two different lengths of one body"));
        }
        length = Some(bytes);
    }
    Ok(length.map_or(BodyLength::Unstated, BodyLength::Bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: MessageKind = MessageKind::Response(FramedMethod::Other);

    /// The lengths of the messages in these bytes, and what their heads say, when the bytes arrive in pieces of this size.
    fn messages(bytes: &[u8], kind: MessageKind, piece: usize) -> Result<Vec<(usize, String)>, NotHttp> {
        let (mut framing, mut found, mut current) = (MessageFraming::default(), Vec::new(), (0, String::new()));
        let (mut from, mut upto) = (0, 0);
        while upto < bytes.len() {
            upto = (upto + piece).min(bytes.len());
            while let Some(part) = framing.next(&bytes[from..upto], kind)? {
                from += part.bytes;
                current.0 += part.bytes;
                match part.head {
                    Some(MessageHead::Request { name, host, .. }) => {
                        let host = host.map(|range| String::from_utf8_lossy(&bytes[from - part.bytes..][range]).into_owned());
                        current.1 = format!("{name} {}", host.unwrap_or_default());
                    }
                    Some(MessageHead::Response { status, .. }) => current.1 = status.to_string(),
                    Some(MessageHead::Interim) | None => {}
                }
                if part.ends {
                    found.push(std::mem::take(&mut current));
                }
            }
        }
        if current.0 > 0 || from < upto {
            found.push((current.0, "open".to_owned()));
        }
        Ok(found)
    }

    fn check(bytes: &[u8], kind: MessageKind, expected: &[(usize, &str)]) {
        for piece in 1..=bytes.len() {
            let found = messages(bytes, kind, piece).unwrap();
            let found: Vec<(usize, &str)> = found.iter().map(|(bytes, head)| (*bytes, head.as_str())).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn pipelined_requests_end_where_their_bodies_end() {
        let get = b"GET /products?page=2 HTTP/1.1\r\nHost: shop:80\r\n\r\n";
        let post = b"POST /orders/4711 HTTP/1.1\r\nhost:shop\r\nContent-Length: 5, 5\r\n\r\nhello";
        let chunked =
            b"PUT /a HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 3\r\n\r\n5;x=\"y\"\r\nhello\r\n0\r\nA: b\r\n\r\n";
        let all = [&get[..], post, chunked, get].concat();
        let expected = [
            (get.len(), "GET /products shop:80"),
            (post.len(), "POST /orders/{id} shop"),
            (chunked.len(), "PUT /a "),
            (get.len(), "GET /products shop:80"),
        ];
        check(&all, MessageKind::Request, &expected);
    }

    #[test]
    fn responses_end_by_their_status_their_length_or_the_connection() {
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let none = b"HTTP/1.1 204 No Content\r\n\r\n";
        let cached = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n";
        let interim =
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
        let chunked = b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let expected = [
            (ok.len(), "200"),
            (none.len(), "204"),
            (cached.len(), "304"),
            (interim.len(), "201"),
            (chunked.len(), "500"),
            (ok.len(), "200"),
        ];
        check(&[&ok[..], none, cached, interim, chunked, ok].concat(), OTHER, &expected);
        let unstated = b"HTTP/1.0 200 OK\r\n\r\nuntil the end";
        check(unstated, OTHER, &[(unstated.len(), "open")]);
        let of_head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
        check(&of_head.repeat(2), MessageKind::Response(FramedMethod::Head), &[(of_head.len(), "200"), (of_head.len(), "200")]);
    }

    #[test]
    fn a_switch_of_protocols_is_detected() {
        let switches = |bytes: &[u8], method| match MessageFraming::default().next(bytes, MessageKind::Response(method)).unwrap().unwrap() {
            FramedPart { head: Some(MessageHead::Response { switches, .. }), ends: true, .. } => switches,
            _ => false,
        };
        assert!(switches(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", FramedMethod::Other));
        assert!(switches(b"HTTP/1.1 200 Connection established\r\n\r\n", FramedMethod::Connect));
        assert!(!switches(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", FramedMethod::Other));
    }

    #[test]
    fn other_bytes_are_refused() {
        for (bytes, why) in [
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], "HTTP/2"),
            (b"\x16\x03\x01\x02\0\x01", "no HTTP/1.1 request"),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two different lengths"),
            (b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "malformed Content-Length"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "malformed chunk"),
            (&[b"GET /", "x".repeat(HEAD_BYTES_MAX).as_bytes()].concat(), "over 64 KiB"),
        ] {
            let found = messages(bytes, MessageKind::Request, bytes.len()).unwrap_err();
            assert!(found.0.contains(why), "{found:?}");
        }
    }
}
