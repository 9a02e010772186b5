//! Where the messages of an HTTP/1.1 connection begin and end (RFC 9112), in bytes as they arrive. httparse reads heads, chunk sizes and trailers.
//!
//! Read [`MessageFraming::next`]. The bytes are forwarded as they are, whatever this file makes of them. Where a message may end at two places, depending on
//! who reads it (RFC 9112, 11.2), it is [`NotHttp`]: the record must not guess what the target understood. Deliberately absent: HTTP/2, and everything
//! else that heads say.

use std::ops::Range;

use httparse::{EMPTY_HEADER, Header, ParserConfig, Status};
use loadstone_units::text;

use crate::formats::request_name;

/// The longest head, or trailers. Bytes.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;
/// The longest line with the size of a chunk. Bytes.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;
const HEADERS_MAX: usize = 128;
/// The longest name of a request. Longer ones are cut, because many names wait for their reader. Bytes.
const NAME_BYTES_MAX: usize = 256;
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
        switches: Option<SwitchedProtocol>,
    },
}

/// What a connection carries after HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwitchedProtocol {
    WebSocket,
    /// HTTP/2 without TLS (RFC 7540, 3.2).
    Http2,
    /// Another one, or a tunnel (CONNECT).
    Other,
}

/// The bytes are not those of HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotHttp(pub(super) &'static str);

/// The position within the messages of one direction.
#[derive(Debug, Default)]
pub(super) struct MessageFraming {
    at: FramingPosition,
    /// How much of a head or trailers that are not complete was parsed. Bytes.
    parsed: usize,
    /// How much of them has arrived. Bytes.
    seen: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FramingPosition {
    #[default]
    Head,
    Body {
        left: u64,
    },
    ChunkSize,
    Chunk {
        left: u64,
    },
    /// The line break after a chunk.
    ChunkEnd,
    Trailers,
    UntilClose,
}

impl MessageFraming {
    /// The next part of the message that `input` continues. `None`: more bytes are needed.
    pub(super) fn next(&mut self, input: &[u8], kind: MessageKind) -> Result<Option<FramedPart>, NotHttp> {
        if input.is_empty() || self.waits(input) {
            return Ok(None);
        }
        let part = match self.at {
            FramingPosition::Head => match kind {
                MessageKind::Request => self.request(input),
                MessageKind::Response(method) => self.response(input, method),
            },
            FramingPosition::Body { left } => {
                let bytes = left.min(input.len() as u64);
                self.at = if bytes == left { FramingPosition::Head } else { FramingPosition::Body { left: left - bytes } };
                Ok(Some(FramedPart { bytes: bytes as usize, head: None, ends: bytes == left }))
            }
            FramingPosition::Chunk { left } => {
                let bytes = left.min(input.len() as u64);
                self.at = if bytes == left { FramingPosition::ChunkEnd } else { FramingPosition::Chunk { left: left - bytes } };
                Ok(Some(FramedPart { bytes: bytes as usize, head: None, ends: false }))
            }
            FramingPosition::ChunkEnd => self.chunk_end(input),
            FramingPosition::ChunkSize => self.chunk_size(input),
            FramingPosition::Trailers => self.trailers(input),
            FramingPosition::UntilClose => Ok(Some(FramedPart { bytes: input.len(), head: None, ends: false })),
        };
        (self.parsed, self.seen) = if matches!(part, Ok(None)) { (input.len(), input.len()) } else { (0, 0) };
        part
    }

    /// Whether the end of the connection ends the message, too.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.at == FramingPosition::UntilClose
    }

    /// Whether the next byte is the first of a message, or one of its head.
    pub(super) fn is_between(&self) -> bool {
        self.at == FramingPosition::Head
    }

    /// Whether the bytes that arrived since the last call cannot complete a head, trailers or the size of a chunk. All of them end with a line, so a peer
    /// that sends them byte by byte costs no more than one that sends them at once.
    fn waits(&mut self, input: &[u8]) -> bool {
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        let waits =
            self.parsed > 0 && input.len() < (2 * self.parsed).min(HEAD_BYTES_MAX + 1) && !input[self.seen..].iter().any(is_control);
        self.seen = input.len();
        waits
    }

    fn request(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let bytes = match request.parse(input) {
            Ok(Status::Complete(bytes)) => within_limit(bytes)?,
            Ok(Status::Partial) => return incomplete(input),
            Err(_) if input.starts_with(HTTP2_PREFACE) => return Err(NotHttp("HTTP/2, which the proxy passes on without recording it")),
            Err(error) => return Err(not_http(error, "bytes that are no HTTP/1.1 request")),
        };
        let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let name = text::bounded(&request_name::of_url(method, target), NAME_BYTES_MAX).into_owned();
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
        self.at = match body(request.headers)? {
            BodyLength { codings: Some(_), bytes: Some(_) } => return Err(NotHttp("a request with Content-Length and Transfer-Encoding")),
            // RFC 9112, 6.3, 4.
            BodyLength { codings: Some(BodyCodings::Other), .. } => return Err(NotHttp("a request whose Transfer-Encoding has no end")),
            BodyLength { codings: Some(BodyCodings::Chunked), .. } => FramingPosition::ChunkSize,
            BodyLength { bytes: Some(0) | None, .. } => FramingPosition::Head,
            BodyLength { bytes: Some(left), .. } => FramingPosition::Body { left },
        };
        let ends = self.at == FramingPosition::Head;
        Ok(Some(FramedPart { bytes, head: Some(MessageHead::Request { method, name, host }), ends }))
    }

    fn response(&mut self, input: &[u8], to: FramedMethod) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        // Clients read both; a user agent replaces the line break of a folded field by spaces (RFC 9112, 5.2).
        let mut parser = ParserConfig::default();
        parser.allow_obsolete_multiline_headers_in_responses(true).allow_multiple_spaces_in_response_status_delimiters(true);
        let bytes = match parser.parse_response(&mut response, input) {
            Ok(Status::Complete(bytes)) => within_limit(bytes)?,
            Ok(Status::Partial) => return incomplete(input),
            Err(error) => return Err(not_http(error, "bytes that are no HTTP/1.1 response")),
        };
        let status = response.code.unwrap_or_default();
        if (100..200).contains(&status) && status != 101 {
            return Ok(Some(FramedPart { bytes, head: Some(MessageHead::Interim), ends: false }));
        }
        let switches = match status {
            101 => Some(upgraded_to(response.headers)),
            200..300 if to == FramedMethod::Connect => Some(SwitchedProtocol::Other),
            _ => None,
        };
        let has_no_body = switches.is_some() || to == FramedMethod::Head || matches!(status, 204 | 304);
        self.at = match body(response.headers)? {
            _ if has_no_body => FramingPosition::Head,
            // Chunks take precedence over a length: all clients read them so (RFC 9112, 6.3, 3).
            BodyLength { codings: Some(BodyCodings::Chunked), .. } => FramingPosition::ChunkSize,
            BodyLength { codings: Some(BodyCodings::Other), .. } | BodyLength { bytes: None, .. } => FramingPosition::UntilClose,
            BodyLength { bytes: Some(0), .. } => FramingPosition::Head,
            BodyLength { bytes: Some(left), .. } => FramingPosition::Body { left },
        };
        let ends = self.at == FramingPosition::Head;
        Ok(Some(FramedPart { bytes, head: Some(MessageHead::Response { status, switches }), ends }))
    }

    fn chunk_size(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        const MALFORMED: NotHttp = NotHttp("a body with a malformed chunk");
        // httparse reads an empty size as 0, and skips single line breaks in extensions, at which others end the line.
        if !input[0].is_ascii_hexdigit() {
            return Err(MALFORMED);
        }
        let has_line_break = |line: &[u8]| line.contains(&b'\n') || line.contains(&b'\r');
        match httparse::parse_chunk_size(input) {
            Ok(Status::Complete((bytes, size))) if bytes <= CHUNK_LINE_BYTES_MAX && !has_line_break(&input[..bytes - 2]) => {
                self.at = if size == 0 { FramingPosition::Trailers } else { FramingPosition::Chunk { left: size } };
                Ok(Some(FramedPart { bytes, head: None, ends: false }))
            }
            Ok(Status::Partial) if input.len() <= CHUNK_LINE_BYTES_MAX && !input.contains(&b'\n') => Ok(None),
            _ => Err(MALFORMED),
        }
    }

    fn chunk_end(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        match input {
            [b'\r', b'\n', ..] => {
                self.at = FramingPosition::ChunkSize;
                Ok(Some(FramedPart { bytes: 2, head: None, ends: false }))
            }
            [b'\r'] => Ok(None),
            _ => Err(NotHttp("a body with a malformed chunk")),
        }
    }

    fn trailers(&mut self, input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
        let mut headers = [EMPTY_HEADER; HEADERS_MAX];
        match httparse::parse_headers(input, &mut headers) {
            Ok(Status::Complete((bytes, _))) => {
                self.at = FramingPosition::Head;
                Ok(Some(FramedPart { bytes: within_limit(bytes)?, head: None, ends: true }))
            }
            Ok(Status::Partial) => incomplete(input),
            Err(error) => Err(not_http(error, "a body with malformed trailers")),
        }
    }
}

const LONG_HEAD: NotHttp = NotHttp("a head of over 64 KiB");

fn incomplete(input: &[u8]) -> Result<Option<FramedPart>, NotHttp> {
    if input.len() > HEAD_BYTES_MAX { Err(LONG_HEAD) } else { Ok(None) }
}

/// The limit does not depend on the pieces in which a head arrives.
fn within_limit(bytes: usize) -> Result<usize, NotHttp> {
    if bytes > HEAD_BYTES_MAX { Err(LONG_HEAD) } else { Ok(bytes) }
}

fn not_http(error: httparse::Error, otherwise: &'static str) -> NotHttp {
    NotHttp(if error == httparse::Error::TooManyHeaders { "a head of over 128 fields" } else { otherwise })
}

/// The protocol after 101 (RFC 9110, 7.8).
fn upgraded_to(headers: &[Header<'_>]) -> SwitchedProtocol {
    let upgrade = headers.iter().find(|header| header.name.eq_ignore_ascii_case("upgrade")).map_or(&[][..], |header| header.value);
    match upgrade.trim_ascii() {
        protocol if protocol.eq_ignore_ascii_case(b"websocket") => SwitchedProtocol::WebSocket,
        protocol if protocol.eq_ignore_ascii_case(b"h2c") => SwitchedProtocol::Http2,
        _ => SwitchedProtocol::Other,
    }
}

/// What the head states about the length of the body.
struct BodyLength {
    codings: Option<BodyCodings>,
    bytes: Option<u64>,
}

/// `Transfer-Encoding`, by its last coding.
enum BodyCodings {
    Chunked,
    Other,
}

/// The length of a body by its headers (RFC 9112, 6.3). Equal lengths may be repeated.
fn body(headers: &[Header<'_>]) -> Result<BodyLength, NotHttp> {
    let values = |name: &'static str| {
        let of_name = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        of_name.flat_map(|header| header.value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
    };
    let last = values("transfer-encoding").next_back();
    let codings = last.map(|last| if last.eq_ignore_ascii_case(b"chunked") { BodyCodings::Chunked } else { BodyCodings::Other });
    let mut length = None;
    for value in values("content-length") {
        let bytes = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let bytes = bytes.and_then(|text| text.parse::<u64>().ok()).ok_or(NotHttp("a malformed Content-Length"))?;
        if length.is_some_and(|other| other != bytes) {
            return Err(NotHttp("two different lengths of one body"));
        }
        length = Some(bytes);
    }
    Ok(BodyLength { codings, bytes: length })
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
        let chunked = b"PUT /a HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n0\r\nA: b\r\n\r\n";
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
        let chunked = b"HTTP/1.1  500 Oh\r\nX: a\r\n b\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
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
            _ => None,
        };
        for (bytes, method, protocol) in [
            (
                &b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\r\n"[..],
                FramedMethod::Other,
                Some(SwitchedProtocol::WebSocket),
            ),
            (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", FramedMethod::Other, Some(SwitchedProtocol::Http2)),
            (b"HTTP/1.1 200 Connection established\r\n\r\n", FramedMethod::Connect, Some(SwitchedProtocol::Other)),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", FramedMethod::Other, None),
        ] {
            assert_eq!(switches(bytes, method), protocol);
        }
    }

    /// Where a message ends must not depend on who reads it: RFC 9112, 11.2, and known attacks on proxies.
    #[test]
    fn other_bytes_and_ambiguous_messages_are_refused() {
        let fields = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        for (bytes, why) in [
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], "HTTP/2"),
            (b"\x16\x03\x01\x02\0\x01", "no HTTP/1.1 request"),
            (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", "no HTTP/1.1 request"),
            (b"GET / HTTP/1.1\r\nContent-Length : 3\r\n\r\n", "no HTTP/1.1 request"),
            (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two different lengths"),
            (b"GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "malformed Content-Length"),
            (b"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "malformed Content-Length"),
            (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "and Transfer-Encoding"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "has no end"),
            (b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", "has no end"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "malformed chunk"),
            (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n: b\r\n\r\n", "malformed trailers"),
            (fields.as_bytes(), "over 128 fields"),
            (&[b"GET /", "x".repeat(HEAD_BYTES_MAX).as_bytes()].concat(), "over 64 KiB"),
        ] {
            for piece in [1, 7, bytes.len()] {
                let found = messages(bytes, MessageKind::Request, piece).unwrap_err();
                assert!(found.0.contains(why), "{found:?} and not {why}, in pieces of {piece}");
            }
        }
    }

    /// A head of 60 KiB that arrives byte by byte: parsing all of it each time would take 60,000 times as long as once.
    #[test]
    fn a_head_in_small_pieces_is_parsed_rarely() {
        let head = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(60 << 10));
        let mut framing = MessageFraming::default();
        let mut parsed = 0;
        for upto in 1..head.len() {
            assert_eq!(framing.next(&head.as_bytes()[..upto], MessageKind::Request), Ok(None));
            parsed += usize::from(framing.parsed == upto);
        }
        assert!(parsed < 40, "it was parsed {parsed} times");
        assert!(framing.next(head.as_bytes(), MessageKind::Request).unwrap().unwrap().ends);
    }
}
