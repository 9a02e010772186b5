//! Encodes requests as bytes.

use std::cell::OnceCell;
use std::rc::Rc;

use super::body::SharedBody;
use super::content;
use super::h2_head::Http2Head;
use super::message::{BodyUse, Origin, Request};
use super::raw_bytes;
use super::trace::TraceParent;
use crate::failure::Failure;
use crate::proxy::Proxy;
use crate::token::is_token;

/// A longer body is sent from the shared bytes. Each worker would otherwise hold a copy of it.
const COPIED_BODY_BYTES_MAX: usize = 16 * 1024;

/// A request whose bytes are built once and sent many times: the cheapest way to send a request that does not vary.
#[derive(Debug, Clone)]
pub struct PreparedRequest {
    pub(crate) origin: Rc<Origin>,
    /// For HTTP/2, whose bytes depend on the connection.
    pub(crate) request: Rc<Request>,
    pub(crate) http2_head: OnceCell<Http2Head>,
    /// Head and body.
    pub(crate) wire: Vec<u8>,
    /// The body, if it is large or is sent later than the head. Then `wire` does not contain it.
    pub(crate) tail: SharedBody,
    pub(crate) expects_continue: bool,
    /// No other request follows on its connection.
    pub(crate) closes: bool,
    /// Length of its header lines: the offset at which another can be inserted.
    lines_bytes: usize,
    /// They include a `Connection` line.
    names_connection: bool,
    pub(crate) traits: Traits,
    pub(crate) keep_headers: bool,
}

impl PreparedRequest {
    /// Fails if the request cannot be sent (for example, a line break in a header).
    pub fn new(request: &Request) -> Result<Self, Failure> {
        let mut wire = Vec::new();
        write_head(request, None, AddedLines::default(), &mut wire)?;
        let lines_bytes = wire.len() - 2;
        let expects_continue = expects_continue(request);
        let body = request.framed_body();
        let is_shared = expects_continue || body.len() > COPIED_BODY_BYTES_MAX;
        if !is_shared {
            body.pieces().iter().for_each(|piece| wire.extend_from_slice(piece));
        }
        Ok(Self {
            tail: if is_shared { body.clone() } else { SharedBody::default() },
            closes: closes(request),
            expects_continue,
            origin: Rc::clone(&request.origin),
            request: Rc::new(request.clone()),
            http2_head: OnceCell::new(),
            wire,
            lines_bytes,
            names_connection: request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection")),
            traits: Traits::of(request),
            keep_headers: true,
        })
    }

    /// The request to send.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The same, for an owner that outlives this value.
    pub fn shared_request(&self) -> Rc<Request> {
        Rc::clone(&self.request)
    }

    /// Appends head and body, with the added lines.
    pub(super) fn write_adding(&self, added: AddedLines, out: &mut Vec<u8>) {
        let (lines, rest) = self.wire.split_at(self.lines_bytes);
        out.extend_from_slice(lines);
        added.write(self.names_connection, out);
        out.extend_from_slice(rest);
    }

    /// Lets the response carry only its status. With [`BodyUse::Discard`], an exchange then allocates nothing.
    pub fn without_headers(mut self) -> Self {
        self.keep_headers = false;
        self
    }
}

/// The properties of a request that matter in addition to its bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    pub(crate) to_head: bool,
    /// Sending it twice has the same effect as once (RFC 9110, section 9.2.2).
    pub(crate) idempotent: bool,
    pub(crate) timeout_ns: u64,
    pub(crate) body_use: BodyUse,
    pub(crate) body_bytes_max: u64,
}

impl Traits {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            to_head: &*request.method == "HEAD",
            idempotent: matches!(&*request.method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE"),
            timeout_ns: request.timeout_ns,
            body_use: request.body_use,
            body_bytes_max: request.body_bytes_max,
        }
    }
}

/// Header lines that are not part of the original request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AddedLines {
    /// Added as `traceparent`.
    pub(crate) trace: Option<TraceParent>,
    /// Adds `Connection: close`: no other request follows on the connection (RFC 9112, section 9.6).
    pub(crate) close: bool,
}

impl AddedLines {
    pub(crate) fn is_empty(self) -> bool {
        self.trace.is_none() && !self.close
    }

    /// `names_connection`: the request has its own `Connection` line, which is kept.
    fn write(self, names_connection: bool, out: &mut Vec<u8>) {
        if self.close && !names_connection {
            line(out, "Connection", "close");
        }
        if let Some(trace) = self.trace {
            trace.write_line(out);
        }
    }
}

/// Appends the head of a request. `proxy`: a proxy that forwards the request, which therefore contains its whole URL (RFC 9112, section 3.2.2).
pub(crate) fn write_head(request: &Request, proxy: Option<&Proxy>, added: AddedLines, out: &mut Vec<u8>) -> Result<(), Failure> {
    check(request)?;
    out.extend_from_slice(request.method.as_bytes());
    out.push(b' ');
    if proxy.is_some() {
        out.extend_from_slice(b"http://");
        out.extend_from_slice(request.origin.authority().as_bytes());
    }
    out.extend_from_slice(request.path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    let mut explicit = ExplicitHeaders::default();
    for (name, _) in &request.headers {
        explicit.note(name);
    }
    // RFC 9110, section 7.2: Host should be the first header.
    if !explicit.host {
        line(out, "Host", &request.origin.authority());
    }
    if let Some(authorization) = proxy.and_then(Proxy::authorization) {
        line(out, "Proxy-Authorization", authorization);
    }
    for (name, value) in request.headers.iter().filter(|(name, value)| !content::declines_codings(name, value)) {
        line_bytes(out, name.as_bytes(), &raw_bytes::to_bytes(value));
    }
    if !explicit.accept_encoding {
        line(out, "Accept-Encoding", content::ACCEPTED);
    }
    // RFC 9110, section 8.6: methods that define a meaning for a body declare an empty one.
    let expects_body = matches!(&*request.method, "POST" | "PUT" | "PATCH");
    if let Some(trailers) = &request.trailers {
        line(out, "Transfer-Encoding", "chunked");
        if !explicit.trailer {
            line(out, "Trailer", &trailers.announcement());
        }
    } else if !explicit.length && (!request.body.is_empty() || expects_body) {
        let mut digits = [0; 20];
        line_bytes(out, b"Content-Length", decimal(request.body.len() as u64, &mut digits));
    }
    added.write(explicit.connection, out);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether a request has `Connection: close`.
pub(super) fn closes(request: &Request) -> bool {
    has_token(request, "connection", "close")
}

/// Whether a request has a body that waits until the server asks for it (RFC 9110, section 10.1.1).
pub(crate) fn expects_continue(request: &Request) -> bool {
    !request.body.is_empty() && has_token(request, "expect", "100-continue")
}

fn has_token(request: &Request, name: &str, token: &str) -> bool {
    let is_wanted = |part: &str| part.trim().eq_ignore_ascii_case(token);
    let mut named = request.headers.iter().filter(|(known, _)| known.len() == name.len() && known.eq_ignore_ascii_case(name));
    named.any(|(_, value)| value.split(',').any(is_wanted))
}

/// Which header lines the caller set.
#[derive(Default)]
struct ExplicitHeaders {
    host: bool,
    length: bool,
    accept_encoding: bool,
    connection: bool,
    trailer: bool,
}

impl ExplicitHeaders {
    fn note(&mut self, name: &str) {
        match name.len() {
            4 => self.host |= name.eq_ignore_ascii_case("host"),
            7 => self.trailer |= name.eq_ignore_ascii_case("trailer"),
            10 => self.connection |= name.eq_ignore_ascii_case("connection"),
            14 => self.length |= name.eq_ignore_ascii_case("content-length"),
            15 => self.accept_encoding |= name.eq_ignore_ascii_case("accept-encoding"),
            17 => self.length |= name.eq_ignore_ascii_case("transfer-encoding"),
            _ => {}
        }
    }
}

/// Whether a header line can be sent. The error names the header, but not its value, which may be a secret.
///
/// # Errors
/// Why it cannot be sent.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    if !is_token(name.as_bytes()) {
        return Err(format!("the header name {name:?} is empty, or contains a character that header names cannot have"));
    }
    match value.bytes().find(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        Some(0) => Err(format!("the value of the header {name} contains a NUL character")),
        Some(_) => Err(format!("the value of the header {name} contains a line break")),
        None => Ok(()),
    }
}

/// Refuses a request whose content would break its framing.
pub(crate) fn check(request: &Request) -> Result<(), Failure> {
    let refuse = |what: &str| Err(Failure::unsendable(format!("the request cannot be sent: {what}")));
    if !is_token(request.method.as_bytes()) {
        return refuse(&format!("{:?} is not an HTTP method", request.method));
    }
    if request.path.is_empty() || !request.path.bytes().all(|byte| byte > b' ' && byte != 0x7f) {
        return refuse("its path is empty, or has a blank or a control character");
    }
    let trailers = request.trailers.as_ref().map(|trailers| trailers.lines()).unwrap_or_default();
    if let Some(problem) = trailers.iter().find_map(|(name, value)| check_header(name, value).err()) {
        return refuse(&problem);
    }
    if let Some(name) = request.trailers.as_ref().and_then(|trailers| trailers.misplaced()) {
        return refuse(&format!("{name} cannot be a trailer"));
    }
    for (name, value) in &request.headers {
        if let Err(problem) = check_header(name, value) {
            return refuse(&problem);
        }
        if name.eq_ignore_ascii_case("content-length") && request.trailers.is_some() {
            return refuse("a body with trailers is sent in chunks: remove the Content-Length header");
        }
        if name.eq_ignore_ascii_case("content-length") && value.trim().parse() != Ok(request.body.len()) {
            return refuse("its Content-Length differs from the length of its body");
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return refuse("Loadstone frames bodies itself: remove the Transfer-Encoding header");
        }
    }
    Ok(())
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    line_bytes(out, name.as_bytes(), value.as_bytes());
}

fn line_bytes(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use loadstone_metrics::Outcome;
    use loadstone_metrics::span::RequestLabel;

    use super::*;
    use crate::http::RequestTrailers;

    fn request(method: &str, headers: &[(&str, &str)], body: &'static str) -> Request {
        Request {
            origin: Rc::new(Origin { tls: false, host: "::1".to_owned(), port: 8080 }),
            method: method.into(),
            path: "/a?b".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: body.into(),
            trailers: None,
            timeout_ns: 1,
            body_use: BodyUse::Keep,
            body_bytes_max: 1,
            label: RequestLabel::default(),
            source: None,
        }
    }

    fn wire(method: &str, headers: &[(&str, &str)], body: &'static str) -> Result<String, String> {
        let prepared = PreparedRequest::new(&request(method, headers, body)).map_err(|failure| failure.message)?;
        Ok(String::from_utf8(prepared.wire).unwrap())
    }

    #[test]
    fn missing_lines_are_added() {
        assert_eq!(
            wire("GET", &[("X", "y")], "").unwrap(),
            "GET /a?b HTTP/1.1\r\nHost: [::1]:8080\r\nX: y\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
        );
        assert_eq!(
            wire("POST", &[("host", "h"), ("ACCEPT-ENCODING", "br")], "body").unwrap(),
            "POST /a?b HTTP/1.1\r\nhost: h\r\nACCEPT-ENCODING: br\r\nContent-Length: 4\r\n\r\nbody"
        );
        assert_eq!(wire("GET", &[("Accept-Encoding", "")], "").unwrap(), "GET /a?b HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
        assert!(wire("POST", &[], "").unwrap().contains("Content-Length: 0\r\n"));
        assert!(!wire("DELETE", &[], "").unwrap().contains("Content-Length"));
        assert_eq!(wire("PUT", &[("content-length", "4")], "body").unwrap().matches("ength").count(), 1);
    }

    #[test]
    fn a_prepared_request_has_its_trace_at_the_same_place_as_a_built_one() {
        let request = request("POST", &[("X", "y")], "body");
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let (mut built, mut prepared) = (Vec::new(), Vec::new());
        write_head(&request, None, AddedLines { trace: trace.parse().ok(), close: false }, &mut built).unwrap();
        built.extend_from_slice(b"body");
        PreparedRequest::new(&request).unwrap().write_adding(AddedLines { trace: trace.parse().ok(), close: false }, &mut prepared);
        assert_eq!(prepared, built);
        let text = String::from_utf8(built).unwrap();
        assert!(text.ends_with(&format!("Content-Length: 4\r\ntraceparent: {trace}\r\n\r\nbody")), "{text}");
    }

    #[test]
    fn a_request_that_breaks_framing_is_not_sent() {
        for headers in [[("A", "b\r\nC: d")], [("A b", "c")], [("", "c")], [("Content-Length", "5")], [("Transfer-Encoding", "chunked")]] {
            assert!(wire("GET", &headers, "").is_err(), "{headers:?}");
        }
        let refused = PreparedRequest::new(&request("GET", &[("x a", "1")], "")).unwrap_err();
        assert_eq!(refused.outcome, Outcome::Unsendable);
        assert!(refused.message.contains("header name \"x a\""), "{}", refused.message);
        assert!(wire("GET /", &[], "").is_err());
        assert!(PreparedRequest::new(&Request { path: "/a b".to_owned(), ..request("GET", &[], "") }).is_err());
    }

    #[test]
    fn trailers_follow_a_chunked_body() {
        let with = |headers: &[(&str, &str)], trailers: &[(&str, &str)]| {
            let lines = trailers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let request = request("POST", headers, "body");
            let trailers = Some(Rc::new(RequestTrailers::new(lines, &request.body)));
            PreparedRequest::new(&Request { trailers, ..request }).map(|prepared| String::from_utf8(prepared.wire).unwrap())
        };
        let wire = with(&[("Accept-Encoding", "br")], &[("X-Sum", "7")]).unwrap();
        let head = "POST /a?b HTTP/1.1\r\nHost: [::1]:8080\r\nAccept-Encoding: br\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
        assert_eq!(wire, format!("{head}4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n"));
        assert_eq!(with(&[("trailer", "own")], &[("X-Sum", "7")]).unwrap().matches("railer: ").count(), 1);
        let refused = |headers, trailers| with(headers, trailers).unwrap_err().message;
        assert!(refused(&[], &[("x a", "1")]).contains("header name \"x a\""));
        assert!(refused(&[], &[("X", "a\nb")]).contains("a line break"));
        assert!(refused(&[], &[("Content-Length", "4")]).ends_with("Content-Length cannot be a trailer"));
        assert!(refused(&[("Content-Length", "4")], &[("X", "1")]).ends_with("remove the Content-Length header"));
    }

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 9, 10, 1234567890, u64::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
