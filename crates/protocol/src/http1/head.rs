//! The head of a response: status line, header lines, and the framing of the body.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Status};

use crate::failure::Failure;

/// Longest head in bytes, including interim responses.
pub(crate) const HEAD_BYTES_MAX: usize = 256 * 1024;
/// Limit on the header lines.
const LINES_MAX: usize = 4_096;
/// Lines for which there is room on the stack.
const LINES_USUAL_MAX: usize = 256;

/// How to find the end of a body (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The parsed content of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    /// Bytes up to and including the empty line.
    pub(crate) bytes: usize,
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// The connection may serve further requests.
    pub(crate) keep_alive: bool,
    /// There is a `Content-Encoding`.
    pub(crate) encoded: bool,
    /// There is a `Set-Cookie`.
    pub(crate) sets_cookies: bool,
    /// The body has the media type that is delivered piece by piece.
    pub(crate) is_stream: bool,
}

/// Parses a head. `None`: more bytes are needed. `to_head`: the request was HEAD, so no body follows. `stream_type`: the media type whose body is
/// delivered piece by piece.
pub(crate) fn parse(bytes: &[u8], to_head: bool, stream_type: Option<&str>) -> Result<Option<ResponseHead>, Failure> {
    // httparse would skip blank lines forever. A client need not accept them.
    if bytes.first().is_some_and(|byte| *byte != b'H') {
        return Err(Failure::protocol(not_http(bytes)));
    }
    match parse_strictly(bytes, to_head, stream_type) {
        Err(HeadProblem::Syntax(error @ (httparse::Error::HeaderValue | httparse::Error::Version))) => {
            // The substitute has the same length, so that the result also describes the original.
            let Some(substitute) = readable_substitute(bytes) else { return Err(complaint(error, bytes)) };
            parse_strictly(&substitute, to_head, stream_type)
        }
        parsed => parsed,
    }
    .map_err(|problem| match problem {
        HeadProblem::Syntax(error) => complaint(error, bytes),
        HeadProblem::Content(failure) => failure,
    })
}

/// Why a head cannot be read.
enum HeadProblem {
    Syntax(httparse::Error),
    Content(Failure),
}

impl From<Failure> for HeadProblem {
    fn from(failure: Failure) -> Self {
        Self::Content(failure)
    }
}

/// A head of the same length that httparse accepts, if only two things are wrong with this one. A higher minor version of HTTP/1 is read as HTTP/1.1
/// (RFC 9110, section 2.5). Control characters in values are retained (RFC 9110, section 5.5), except for NUL and a lone carriage return.
fn readable_substitute(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut substitute = bytes[..bytes.len().min(HEAD_BYTES_MAX)].to_vec();
    let is_higher = |minor: u8| (b'2'..=b'9').contains(&minor);
    if let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, ..] = &mut *substitute
        && is_higher(*minor)
    {
        *minor = b'1';
    }
    let is_kept = |byte: u8| byte != 0 && byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r' | b'\n');
    // A byte that no header name and no number can have.
    substitute.iter_mut().filter(|byte| is_kept(**byte)).for_each(|byte| *byte = 0xff);
    (substitute != bytes[..substitute.len()]).then_some(substitute)
}

fn parse_strictly(bytes: &[u8], to_head: bool, stream_type: Option<&str>) -> Result<Option<ResponseHead>, HeadProblem> {
    let mut lines = [const { MaybeUninit::uninit() }; LINES_USUAL_MAX];
    let mut many_lines = Vec::new();
    let mut response = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    // RFC 9112, section 5.2: a user agent must read folded lines.
    config.allow_obsolete_multiline_headers_in_responses(true);
    let mut parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut lines);
    if parsed == Err(httparse::Error::TooManyHeaders) {
        many_lines.resize(LINES_MAX, MaybeUninit::uninit());
        response = httparse::Response::new(&mut []);
        parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut many_lines);
    }
    let length = match parsed {
        Ok(Status::Partial) => return Ok(None),
        Ok(Status::Complete(length)) => length,
        Err(error) => return Err(HeadProblem::Syntax(error)),
    };
    let status = response.code.unwrap_or_default();
    if status < 100 {
        return Err(Failure::protocol("the response's status is below 100").into());
    }
    let version = response.version.unwrap_or_default();
    let found = FramingHeaders::read(response.headers, stream_type)?;
    Ok(Some(ResponseHead {
        bytes: length,
        status,
        framing: found.framing(version, status, to_head)?,
        keep_alive: if version == 0 { found.keep_alive && !found.close } else { !found.close },
        encoded: found.encoded,
        sets_cookies: found.sets_cookies,
        is_stream: found.is_stream,
    }))
}

/// The header lines that determine the framing.
#[derive(Default)]
struct FramingHeaders {
    length: Option<u64>,
    transfer_coded: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    encoded: bool,
    sets_cookies: bool,
    is_stream: bool,
}

/// Compares with the spelling of nearly all servers first, and otherwise ignores case.
#[inline]
fn is(name: &str, usual: &str) -> bool {
    name == usual || name.eq_ignore_ascii_case(usual)
}

impl FramingHeaders {
    fn read(lines: &[httparse::Header<'_>], stream_type: Option<&str>) -> Result<Self, Failure> {
        let mut found = Self::default();
        for line in lines {
            // The length distinguishes nearly all names before any letter is compared.
            match line.name.len() {
                10 if is(line.name, "Connection") => {
                    for token in tokens(line.value) {
                        found.close |= token.eq_ignore_ascii_case(b"close");
                        found.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                10 if is(line.name, "Set-Cookie") => found.sets_cookies = true,
                12 if is(line.name, "Content-Type") => {
                    if let Some(wanted) = stream_type {
                        let kind = line.value.split(|byte| *byte == b';').next().unwrap_or_default();
                        found.is_stream = kind.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes());
                    }
                }
                14 if is(line.name, "Content-Length") => found.add_length(line.value)?,
                16 if is(line.name, "Content-Encoding") => found.encoded = true,
                17 if is(line.name, "Transfer-Encoding") => found.add_coding(line.value)?,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Repeated equal lengths are one length (RFC 9112, section 6.3, rule 5).
    fn add_length(&mut self, value: &[u8]) -> Result<(), Failure> {
        for token in value.split(|byte| *byte == b',') {
            let length = digits(token.trim_ascii()).ok_or_else(|| Failure::protocol("the response's Content-Length is not a number"))?;
            if self.length.is_some_and(|other| other != length) {
                return Err(Failure::protocol("the response has two Content-Length values that differ"));
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn add_coding(&mut self, value: &[u8]) -> Result<(), Failure> {
        self.transfer_coded = true;
        for token in tokens(value) {
            if !token.eq_ignore_ascii_case(b"chunked") {
                return Err(Failure::protocol("the response has a transfer coding other than chunked"));
            }
            if self.chunked {
                return Err(Failure::protocol("the response is chunked twice"));
            }
            self.chunked = true;
        }
        Ok(())
    }

    fn framing(&self, version: u8, status: u16, to_head: bool) -> Result<Framing, Failure> {
        if self.transfer_coded && self.length.is_some() {
            return Err(Failure::protocol("the response has both Transfer-Encoding and Content-Length"));
        }
        if self.transfer_coded && version == 0 {
            return Err(Failure::protocol("the response is HTTP/1.0 and has Transfer-Encoding"));
        }
        if to_head || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::Length(0));
        }
        Ok(match self.length {
            _ if self.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        })
    }
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

fn not_http(bytes: &[u8]) -> &'static str {
    // A TLS record begins with its type, 20 to 23, and the major version 3.
    match bytes {
        [20..=23, 3, ..] => "the response is TLS, not HTTP; is the URL meant to be https://?",
        _ => "the response does not begin with HTTP/1.",
    }
}

fn complaint(error: httparse::Error, bytes: &[u8]) -> Failure {
    Failure::protocol(match error {
        httparse::Error::HeaderName => "the response has a malformed header name",
        httparse::Error::HeaderValue => return Failure::protocol(malformed_value(bytes)),
        httparse::Error::NewLine => "the response's head has a malformed line end",
        httparse::Error::Status => "the response's status line is malformed",
        httparse::Error::Token => "the response's head has a character that is not allowed",
        httparse::Error::TooManyHeaders => "the response has more than 4,096 header lines, the limit",
        httparse::Error::Version => "the response does not begin with HTTP/1.",
    })
}

/// Names the header whose value has a character that ends or cuts it in other clients.
fn malformed_value(bytes: &[u8]) -> String {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1).map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut broken = lines.take_while(|line| !line.is_empty()).filter(|line| line.iter().any(|byte| matches!(byte, 0 | b'\r')));
    let name = broken.next().and_then(|line| line.split(|byte| *byte == b':').next());
    match name.and_then(|name| std::str::from_utf8(name).ok()).filter(|name| !name.contains(char::is_control)) {
        Some(name) => format!("the value of the response's header {name} contains a NUL or a lone carriage return"),
        None => "the response has a malformed header value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<ResponseHead>, String> {
        parse(text.as_bytes(), false, None).map_err(|failure| failure.message)
    }

    fn framing(lines: &str) -> Result<Framing, String> {
        read(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n")).map(|head| head.unwrap().framing)
    }

    #[test]
    fn the_body_ends_according_to_the_head() {
        assert_eq!(framing("Content-Length: 12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(framing("content-length: 12, 12\r\nCONTENT-LENGTH:12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        assert_eq!(framing("X: y\r\n"), Ok(Framing::UntilClose));
        for status in [100, 103, 204, 304] {
            let head = read(&format!("HTTP/1.1 {status} x\r\nContent-Length: 5\r\n\r\n")).unwrap().unwrap();
            assert_eq!(head.framing, Framing::Length(0), "{status}");
        }
        let to_head = parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, None).unwrap().unwrap();
        assert_eq!(to_head.framing, Framing::Length(0));
    }

    #[test]
    fn contradictions_are_refused() {
        for lines in [
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1, 2\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 1x\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
        ] {
            assert!(framing(lines).is_err(), "{lines:?}");
        }
        assert!(read("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }

    #[test]
    fn connections_persist_according_to_the_version() {
        let keep = |text: &str| read(text).unwrap().unwrap().keep_alive;
        assert!(keep("HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!keep("HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n\r\n"));
        assert!(!keep("HTTP/1.0 200 OK\r\n\r\n"));
        assert!(keep("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n"));
    }

    #[test]
    fn a_higher_minor_version_is_read_as_1_1() {
        for version in ["1.2", "1.9"] {
            let head = read(&format!("HTTP/{version} 200 OK\r\nContent-Length: 2\r\n\r\n")).unwrap().unwrap();
            assert_eq!((head.status, head.framing, head.keep_alive), (200, Framing::Length(2), true), "{version}");
        }
        assert_eq!(read("HTTP/1.2 200 OK\r\nContent-"), Ok(None));
        for version in ["1.x", "2.0", "1.10"] {
            assert!(read(&format!("HTTP/{version} 200 OK\r\n\r\n")).is_err(), "{version}");
        }
    }

    #[test]
    fn a_control_character_in_a_value_refuses_no_response() {
        let head = read("HTTP/1.1 200 OK\r\nX: a\u{1}b\u{7f}\r\nContent-Length: 2\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.bytes, head.framing), (47, Framing::Length(2)));
        assert_eq!(read("HTTP/1.1 200 OK\r\nX: a\u{1}b"), Ok(None));
        for lines in ["Content-Length: 2\u{1}\r\n", "Transfer-Encoding: \u{1}chunked\r\n", "X\u{1}: b\r\n"] {
            assert!(framing(lines).is_err(), "{lines:?}");
        }
        for value in ["a\0b", "a\rb"] {
            let refused = framing(&format!("X-A: {value}\r\n")).unwrap_err();
            assert_eq!(refused, "the value of the response's header X-A contains a NUL or a lone carriage return", "{value:?}");
        }
    }

    #[test]
    fn responses_that_are_not_http_are_named() {
        assert_eq!(read("\u{16}\u{3}\u{1}").unwrap_err(), "the response is TLS, not HTTP; is the URL meant to be https://?");
        for text in ["\r\nHTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-x", "HTTP/2 200\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n"]
        {
            assert!(read(text).is_err(), "{text:?}");
        }
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("HTTP/1.1 200 OK\r\nA: b\r\n"), Ok(None));
        assert_eq!(read("HTTP/1.1 200\r\n\r\n").unwrap().unwrap().status, 200);
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(4_097));
        assert_eq!(read(&many).unwrap_err(), "the response has more than 4,096 header lines, the limit");
        let allowed = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 7\r\n\r\n", "a: b\r\n".repeat(300));
        assert_eq!(read(&allowed).unwrap().unwrap().framing, Framing::Length(7));
    }
}
