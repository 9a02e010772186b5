//! Lines of access logs, in the formats of nginx and Apache and in some fixed ones. Read [`LogFormat::line`].
//!
//! A format string becomes literal text and fields (`pattern`); `named` has formats by name, `instant` reads the times.

mod instant;
mod named;
mod pattern;

pub use instant::{RecordedTime, TimeReader, instant};

use instant::{epoch, in_units};
use named::NamedFormat;
use pattern::{FormatPart, InstantForm, LogField};

/// A format string as its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFormat {
    parts: Vec<FormatPart>,
    /// `None`: a format string.
    named: Option<&'static NamedFormat>,
}

/// The fields of a line, still escaped as the server wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogLine<'a> {
    /// When the request arrived, if the server logs that.
    begin: Option<RecordedTime>,
    /// When the line was written, at the end of the request.
    end: Option<RecordedTime>,
    day: &'a str,
    /// As logged.
    duration_ns: Option<u64>,
    /// Empty, like `target`, if the request line has no two words. See [`LogLine::is_request`].
    pub method: &'a str,
    pub target: &'a str,
    /// With or without its question mark. Empty or `-`: the target contains it, or there is none.
    pub query: &'a str,
    /// 0: the connection ended before a response.
    pub status: Option<u16>,
    /// Bytes of the response, or 0.
    pub bytes_sent: u64,
    /// Bytes of the request, or 0.
    pub bytes_received: u64,
    pub headers: Vec<(&'a str, &'a str)>,
}

impl LogFormat {
    /// `combined`, `common`, `envoy`, `istio`, `haproxy`, `alb`, `cloudfront`, or a format string with nginx's `$variables` or Apache's `%directives`.
    ///
    /// # Errors
    /// The format has no time or no request, or its fields cannot be separated. The message says what to add.
    pub fn parse(text: &str) -> Result<Self, String> {
        let named = NamedFormat::find(text);
        let parts = match named {
            Some(named) => named.parts()?,
            None if text.contains('$') => pattern::nginx(text),
            None => pattern::apache(text)?,
        };
        let format = Self { parts, named };
        if !format.has(|field| matches!(field, LogField::End(_) | LogField::Begin(_) | LogField::EndOfDay)) {
            return Err(format!("the format \"{text}\" has no time: it needs $time_local, $time_iso8601, $msec or %t"));
        }
        if !format.has(|field| matches!(field, LogField::RequestLine | LogField::Target)) {
            return Err(format!("the format \"{text}\" has no request: it needs $request, $request_uri, %r or %U"));
        }
        let adjacent = |pair: &[FormatPart]| matches!(pair, [FormatPart::Field(_), FormatPart::Field(field)] if *field != LogField::Query);
        if format.parts.windows(2).any(adjacent) {
            return Err(format!("the format \"{text}\" has two fields with no text between them"));
        }
        Ok(format)
    }

    /// Whether its lines show how long a request took.
    pub fn has_duration(&self) -> bool {
        let both = self.has(|field| matches!(field, LogField::Begin(_))) && self.has(|field| matches!(field, LogField::End(_)));
        both || self.has(|field| matches!(field, LogField::Duration(_)))
    }

    pub fn has_status(&self) -> bool {
        self.has(|field| *field == LogField::Status)
    }

    /// Whether its only time is a date, which servers write in whole seconds.
    pub fn has_whole_seconds(&self) -> bool {
        let has_fractions = self.named.is_some_and(|named| named.has_fractions);
        !has_fractions && !self.has(|field| matches!(field, LogField::Begin(InstantForm::Epoch(_)) | LogField::End(InstantForm::Epoch(_))))
    }

    /// Whether its files arrive minutes after the requests.
    pub fn arrives_later(&self) -> bool {
        self.named.is_some_and(|named| named.arrives_later)
    }

    /// Whether a line is no request, such as the names of fields at the beginning of a file.
    pub fn is_comment(&self, line: &str) -> bool {
        self.arrives_later() && line.starts_with('#')
    }

    fn has(&self, wanted: impl Fn(&LogField) -> bool) -> bool {
        self.parts.iter().any(|part| matches!(part, FormatPart::Field(field) if wanted(field)))
    }

    /// `None`: the line does not fit.
    pub fn line<'a>(&'a self, line: &'a str, times: &mut TimeReader) -> Option<LogLine<'a>> {
        let mut rest = line.trim_end_matches('\r');
        let mut found = LogLine { method: "GET", ..LogLine::default() };
        for (at, part) in self.parts.iter().enumerate() {
            let field = match part {
                FormatPart::Text(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                FormatPart::Field(field) => field,
            };
            let value = match self.parts.get(at + 1) {
                Some(FormatPart::Text(text)) => &rest[..value_end(rest, text)?],
                // `%U%q`: the query begins with a question mark.
                Some(FormatPart::Field(_)) => &rest[..rest.find(['?', ' ', '"']).unwrap_or(rest.len())],
                None if self.named.is_some_and(|named| named.allows_more) => &rest[..rest.find(' ').unwrap_or(rest.len())],
                None => rest,
            };
            rest = &rest[value.len()..];
            found.take(field, value, times)?;
        }
        Some(found)
    }
}

impl<'a> LogLine<'a> {
    fn take(&mut self, field: &'a LogField, value: &'a str, times: &mut TimeReader) -> Option<()> {
        let mut at = |form: &InstantForm| match form {
            InstantForm::Date => times.read(value),
            InstantForm::Epoch(unit_ns) => epoch(value, *unit_ns),
        };
        match field {
            // A second, more exact time counts.
            LogField::End(form) => self.end = Some(more_exact(self.end, at(form)?)),
            LogField::Begin(form) => self.begin = Some(more_exact(self.begin, at(form)?)),
            LogField::RequestLine => (self.method, self.target) = request_line(value).unwrap_or_default(),
            LogField::Method => self.method = value,
            LogField::Target => self.target = value,
            LogField::Query => self.query = value,
            LogField::Day => self.day = value,
            LogField::EndOfDay => self.end = Some(more_exact(self.end, times.read(&format!("{}T{value}Z", self.day))?)),
            // HAProxy marks times of responses that have not ended with a plus.
            LogField::Duration(unit_ns) => self.duration_ns = in_units(value.trim_start_matches('+'), *unit_ns),
            LogField::Status => self.status = if matches!(value, "-" | "-1") { Some(0) } else { value.parse().ok() },
            LogField::BytesSent => self.bytes_sent = value.parse().unwrap_or(0),
            LogField::BytesReceived => self.bytes_received = value.parse().unwrap_or(0),
            LogField::Header(name) => self.headers.push((name.as_str(), value)),
            LogField::Ignored => {}
        }
        Some(())
    }

    /// Whether it has a request, and not bytes that the server could not read as one: those of port scans and of TLS on a plain port, connections that
    /// ended before a request, HAProxy's `<BADREQ>`.
    pub fn is_request(&self) -> bool {
        let is_target = self.method == "CONNECT" || self.target.starts_with(['/', '*']) || self.target.contains("://");
        // The preface of HTTP/2, which a server without it logs.
        let is_preface = self.method == "PRI" && self.target == "*";
        is_token(self.method) && is_target && !is_preface
    }

    /// How long the request took, as logged or between both ends. Nanoseconds.
    pub fn duration(&self) -> Option<u64> {
        let between = || u64::try_from(self.end?.ns.checked_sub(self.begin?.ns)?).ok();
        self.duration_ns.or_else(between)
    }

    /// When the request arrived: logged, or the end minus the duration if there is one.
    pub fn began(&self) -> Option<RecordedTime> {
        let duration = i64::try_from(self.duration_ns.unwrap_or(0)).unwrap_or(i64::MAX);
        self.begin.or_else(|| self.end.map(|end| RecordedTime { ns: end.ns.saturating_sub(duration), ..end }))
    }

    /// When the request ended: logged, or the begin plus the duration if there is one.
    pub fn ended(&self) -> Option<RecordedTime> {
        let duration = i64::try_from(self.duration_ns.unwrap_or(0)).unwrap_or(i64::MAX);
        self.end.or_else(|| self.begin.map(|begin| RecordedTime { ns: begin.ns.saturating_add(duration), ..begin }))
    }

    /// The target with its query, unescaped.
    pub fn whole_target(&self) -> String {
        let query = self.query.trim_start_matches('?');
        let target = unescaped(self.target);
        if query.is_empty() || query == "-" { target } else { format!("{target}?{}", unescaped(query)) }
    }
}

/// Of two times of a line.
fn more_exact(known: Option<RecordedTime>, read: RecordedTime) -> RecordedTime {
    known.filter(|known| !known.is_whole_second).unwrap_or(read)
}

/// Where a value ends that is followed by this text. A quotation mark in the value is escaped.
fn value_end(rest: &str, text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(text)?;
        if !text.starts_with('"') || !rest[..at].ends_with('\\') {
            return Some(at);
        }
        from = at + 1;
    }
}

/// `GET /path HTTP/1.1`
fn request_line(text: &str) -> Option<(&str, &str)> {
    let (method, rest) = text.split_once(' ')?;
    let target = rest.rsplit_once(' ').filter(|(_, version)| version.starts_with("HTTP/")).map_or(rest, |(target, _)| target);
    Some((method, target))
}

/// A method may have any of these characters (RFC 9110, section 5.6.2), but is no single dash, which stands for nothing.
fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text != "-" && text.bytes().all(is_token_byte)
}

/// nginx and Apache write unusual bytes as `\xHH`, and quotation marks with a backslash.
pub fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = |at: usize| tail.get(at).and_then(|byte| (*byte as char).to_digit(16));
        rest = match (first, tail.first(), hex(1), hex(2)) {
            (b'\\', Some(b'x'), Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                &tail[3..]
            }
            (b'\\', Some(escaped @ (b'"' | b'\\')), ..) => {
                bytes.push(*escaped);
                &tail[1..]
            }
            _ => {
                bytes.push(*first);
                tail
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_795_885_200_000_000_000;

    type Header = (String, String);

    /// When the request began, its method, its target and its headers.
    fn read(format: &str, line: &str) -> Option<(i64, String, String, Vec<Header>)> {
        let format = LogFormat::parse(format).unwrap();
        let mut times = TimeReader::default();
        let line = format.line(line, &mut times)?;
        let headers = line.headers.iter().map(|(name, value)| ((*name).to_owned(), unescaped(value))).collect();
        Some((line.began()?.ns, line.method.to_owned(), line.whole_target(), headers))
    }

    #[test]
    fn lines_of_real_servers_are_read() {
        let combined = r#"203.0.113.7 - joe [28/Nov/2026:17:00:00 +0000] "GET /a?b=\x22c HTTP/1.1" 200 12 "-" "curl/8 \"x\"""#;
        let (at, method, target, headers) = read("combined", combined).unwrap();
        assert_eq!((at, method.as_str(), target.as_str()), (SECOND, "GET", "/a?b=\"c"));
        assert_eq!(headers[1], ("user-agent".to_owned(), "curl/8 \"x\"".to_owned()));
        // A `combined` log with more fields at its end.
        assert_eq!(read("combined", &format!("{combined} 0.003")).unwrap().2, target);
        let (at, method, target, _) =
            read(r#"$msec $request_time $request_method "$uri" "$args" $status"#, r#"1795885200.500 0.250 POST "/buy" "id=3" 201"#)
                .unwrap();
        assert_eq!((at, method.as_str(), target.as_str()), (SECOND + 250_000_000, "POST", "/buy?id=3"));
        let (at, _, target, headers) = read(
            r#"%h %l %u %t \"%m %U%q %H\" %>s %b %D \"%{Referer}i\""#,
            r#"::1 - - [28/Nov/2026:17:00:00 +0000] "GET /p?x=1 HTTP/1.1" 200 - 1500 "http://a.example/""#,
        )
        .unwrap();
        assert_eq!((at, target.as_str()), (SECOND, "/p?x=1"), "Apache writes when a request arrived");
        assert_eq!(headers, [("Referer".to_owned(), "http://a.example/".to_owned())]);
    }

    #[test]
    fn status_bytes_and_both_ends_are_read() {
        let format = LogFormat::parse("%{usec}t %D %I %O %>s \"%r\" 100%%").unwrap();
        let mut times = TimeReader::default();
        let line = format.line("1795885200000250 1500 31 420 404 \"GET / HTTP/1.1\" 100%", &mut times).unwrap();
        assert_eq!((line.status, line.bytes_received, line.bytes_sent), (Some(404), 31, 420));
        assert_eq!((line.began().unwrap().ns, line.ended().unwrap().ns), (SECOND + 250_000, SECOND + 1_750_000));
        assert!(!format.has_whole_seconds() && format.has_duration() && format.has_status());
        // The more exact of two times counts, in either order.
        for (text, written) in [
            ("[$time_local] $msec $request_uri", "[28/Nov/2026:17:00:00 +0000] 1795885200.750 /"),
            ("$msec [$time_local] $request_uri", "1795885200.750 [28/Nov/2026:17:00:00 +0000] /"),
        ] {
            assert_eq!(read(text, written).unwrap().0, SECOND + 750_000_000, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_none() {
        for line in ["", "garbage", r#"1.2.3.4 - - [nonsense] "GET / HTTP/1.1" 200 1"#] {
            assert_eq!(read("combined", line), None, "{line}");
        }
    }

    /// Request lines as nginx, Apache and HAProxy log them when there was no request.
    #[test]
    fn lines_without_a_request_are_distinguished() {
        let is_request = |request: &str| {
            let line = format!(r#"1.2.3.4 - - [28/Nov/2026:17:00:00 +0000] "{request}" 400 0 "-" "-""#);
            let format = LogFormat::parse("combined").unwrap();
            format.line(&line, &mut TimeReader::default()).unwrap().is_request()
        };
        for line in [
            "",
            "-",
            "<BADREQ>",
            r"\x16\x03\x01\x02\x00\x01\xFC\x03\x03 \x8B/\xC8 HTTP/1.1",
            r"\x03\x00\x00/*\xE0\x00\x00\x00\x00\x00Cookie: mstshash=Administr",
            "SSH-2.0-Go",
            "t3 12.1.2",
            "- - HTTP/1.1",
            "PRI * HTTP/2.0",
        ] {
            assert!(!is_request(line), "{line}");
        }
        for line in [
            "GET / HTTP/1.1",
            "get /a HTTP/1.1",
            "OPTIONS * HTTP/1.1",
            "CONNECT shop:443 HTTP/1.1",
            "GET http://shop/ HTTP/1.1",
            "M-SEARCH /x",
        ] {
            assert!(is_request(line), "{line}");
        }
    }

    #[test]
    fn a_format_without_time_or_request_is_refused() {
        for (format, why) in [
            ("$request", "has no time"),
            ("$msec $status", "has no request"),
            ("%t%r", "no text between"),
            ("%{%Y}t %r", "is not supported"),
            ("json", "has no time"),
        ] {
            assert!(LogFormat::parse(format).unwrap_err().contains(why), "{format}");
        }
    }
}
