//! Lines of access logs: nginx's `log_format` and Apache's `LogFormat`.

use super::logged::LoggedRequest;
use super::recorded_time::{RecordedTime, TimeReader};

const COMMON: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;
const COMBINED: &str =
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// A format string as its parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogFormat {
    parts: Vec<FormatPart>,
    /// Text after the last part of a format that has more on each line, such as `combined` with a time, is ignored.
    allows_more: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum FormatPart {
    Text(String),
    LogField(LogField),
}

#[derive(Debug, Clone, PartialEq)]
enum LogField {
    /// When the line was written, at the end of the request (nginx).
    End,
    /// When the request arrived (Apache).
    Begin,
    /// `GET /path HTTP/1.1`
    RequestLine,
    Method,
    Target,
    /// The query alone, with or without its question mark.
    Query,
    /// Seconds multiplied by this are nanoseconds: the unit of the server.
    Duration(f64),
    Header(String),
    Ignored,
}

/// The parts of a line that say when a request was sent, and how.
pub(super) struct LogLine<'a> {
    pub(super) begin: RecordedTime,
    method: &'a str,
    target: &'a str,
    query: &'a str,
    headers: Vec<(&'a str, &'a str)>,
}

impl LogFormat {
    /// `combined`, `common`, or a format string with nginx's `$variables` or Apache's `%directives`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (text, allows_more) = match text {
            "combined" => (COMBINED, true),
            "common" => (COMMON, true),
            other => (other, false),
        };
        let is_nginx = text.contains('$');
        let parts = if is_nginx { nginx(text) } else { apache(text)? };
        let has =
            |wanted: &dyn Fn(&LogField) -> bool| parts.iter().any(|part| matches!(part, FormatPart::LogField(field) if wanted(field)));
        if !has(&|field| matches!(field, LogField::End | LogField::Begin)) {
            return Err(format!("the format \"{text}\" has no time: it needs $time_local, $time_iso8601, $msec or %t"));
        }
        if !has(&|field| matches!(field, LogField::RequestLine | LogField::Target)) {
            return Err(format!("the format \"{text}\" has no request: it needs $request, $request_uri, %r or %U"));
        }
        let adjacent = parts
            .windows(2)
            .any(|pair| matches!(pair, [FormatPart::LogField(_), FormatPart::LogField(field)] if *field != LogField::Query));
        if adjacent {
            return Err(format!("the format \"{text}\" has two fields with nothing between them"));
        }
        Ok(Self { parts, allows_more })
    }

    /// `None`: the line does not fit.
    pub(super) fn line<'a>(&'a self, line: &'a str, times: &mut TimeReader) -> Option<LogLine<'a>> {
        let mut rest = line.trim_end_matches('\r');
        let (mut begin, mut end, mut duration_ns) = (None, None, 0.0);
        let (mut method, mut target, mut query, mut headers) = ("GET", "", "", Vec::new());
        for (at, part) in self.parts.iter().enumerate() {
            let field = match part {
                FormatPart::Text(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                FormatPart::LogField(field) => field,
            };
            let value = match self.parts.get(at + 1) {
                Some(FormatPart::Text(text)) => &rest[..value_end(rest, text)?],
                // `%U%q`: the query begins with a question mark.
                Some(FormatPart::LogField(_)) => &rest[..rest.find(['?', ' ', '"']).unwrap_or(rest.len())],
                None if self.allows_more => &rest[..rest.find(' ').unwrap_or(rest.len())],
                None => rest,
            };
            rest = &rest[value.len()..];
            match field {
                LogField::End => end = Some(times.read(value)?),
                LogField::Begin => begin = Some(times.read(value)?),
                LogField::RequestLine => (method, target) = request_line(value)?,
                LogField::Method => method = value,
                LogField::Target => target = value,
                LogField::Query => query = value,
                LogField::Duration(unit_ns) => duration_ns = value.parse::<f64>().unwrap_or(0.0) * unit_ns,
                LogField::Header(name) => headers.push((name.as_str(), value)),
                LogField::Ignored => {}
            }
        }
        let begin = match (begin, end) {
            (Some(begin), _) => begin,
            (None, Some(end)) => RecordedTime { ns: end.ns - duration_ns as i64, ..end },
            (None, None) => return None,
        };
        Some(LogLine { begin, method, target, query, headers })
    }

    /// The request of a line.
    pub(super) fn request(&self, line: &[u8]) -> Option<LoggedRequest> {
        self.line(std::str::from_utf8(line).ok()?, &mut TimeReader::default())?.request()
    }
}

impl LogLine<'_> {
    pub(super) fn method(&self) -> &str {
        self.method
    }

    /// `None`: it is no HTTP request, such as the bytes of a port scan.
    pub(super) fn request(&self) -> Option<LoggedRequest> {
        let query = self.query.trim_start_matches('?');
        let target = unescaped(self.target);
        let target = if query.is_empty() || query == "-" { target } else { format!("{target}?{}", unescaped(query)) };
        let mut request = LoggedRequest::new(self.method, &target)?;
        self.headers.iter().for_each(|(name, value)| request.header(name, &unescaped(value)));
        Some(request)
    }
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

/// nginx and Apache write unusual bytes as `\xHH`, and quotation marks with a backslash.
fn unescaped(text: &str) -> String {
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

/// <https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format>
fn nginx(format: &str) -> Vec<FormatPart> {
    let (mut parts, mut rest) = (Vec::new(), format);
    while let Some(at) = rest.find('$') {
        push_text(&mut parts, &rest[..at]);
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => after.split_at(after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len())),
        };
        parts.push(FormatPart::LogField(match name {
            "time_local" | "time_iso8601" | "msec" => LogField::End,
            "request" => LogField::RequestLine,
            "request_method" => LogField::Method,
            "request_uri" | "uri" | "document_uri" => LogField::Target,
            "args" | "query_string" => LogField::Query,
            "request_time" => LogField::Duration(1e9),
            name => name.strip_prefix("http_").map_or(LogField::Ignored, |header| LogField::Header(header.replace('_', "-"))),
        }));
        rest = tail;
    }
    push_text(&mut parts, rest);
    parts
}

/// <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>
fn apache(format: &str) -> Result<Vec<FormatPart>, String> {
    let (mut parts, mut rest) = (Vec::new(), format);
    while let Some(at) = rest.find('%') {
        push_text(&mut parts, &rest[..at]);
        let after = rest[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '<' | '>' | '!' | ','));
        let (argument, after) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((argument, after)) => (Some(argument), after),
            None => (None, after),
        };
        let Some(directive) = after.chars().next() else {
            return Err(format!("the format \"{format}\" ends with an incomplete directive"));
        };
        parts.push(FormatPart::LogField(match (directive, argument) {
            ('t', None) => LogField::Begin,
            ('t', Some("sec" | "begin:sec")) => LogField::Begin,
            ('t', Some("end:sec")) => LogField::End,
            ('t', Some(other)) => return Err(format!("%{{{other}}}t is not supported: use %t or %{{sec}}t")),
            ('r', _) => LogField::RequestLine,
            ('m', _) => LogField::Method,
            ('U', _) => LogField::Target,
            ('q', _) => LogField::Query,
            ('D', _) => LogField::Duration(1e3),
            ('T', Some("ms")) => LogField::Duration(1e6),
            ('T', Some("us")) => LogField::Duration(1e3),
            ('T', _) => LogField::Duration(1e9),
            ('i', Some(header)) => LogField::Header(header.to_owned()),
            _ => LogField::Ignored,
        }));
        rest = &after[directive.len_utf8()..];
    }
    push_text(&mut parts, rest);
    Ok(parts)
}

fn push_text(parts: &mut Vec<FormatPart>, text: &str) {
    if !text.is_empty() {
        parts.push(FormatPart::Text(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_795_885_200_000_000_000;

    fn read(format: &str, line: &str) -> Option<(i64, LoggedRequest)> {
        let format = LogFormat::parse(format).unwrap();
        let mut times = TimeReader::default();
        let line = format.line(line, &mut times)?;
        Some((line.begin.ns, line.request()?))
    }

    #[test]
    fn lines_of_real_servers_are_read() {
        let combined = r#"203.0.113.7 - joe [28/Nov/2026:17:00:00 +0000] "GET /a?b=\x22c HTTP/1.1" 200 12 "-" "curl/8 \"x\"""#;
        let (at, request) = read("combined", combined).unwrap();
        assert_eq!((at, request.method.as_str(), request.target.as_str()), (SECOND, "GET", "/a?b=\"c"));
        assert_eq!(request.headers, [("user-agent".to_owned(), "curl/8 \"x\"".to_owned())]);
        // A `combined` log with more fields at its end.
        assert_eq!(read("combined", &format!("{combined} 0.003")).unwrap().1, request);
        let (at, request) =
            read(r#"$msec $request_time $request_method "$uri" "$args" $status"#, r#"1795885200.500 0.250 POST "/buy" "id=3" 201"#)
                .unwrap();
        assert_eq!((at, request.method.as_str(), request.target.as_str()), (SECOND + 250_000_000, "POST", "/buy?id=3"));
        let (at, request) = read(
            r#"%h %l %u %t "%m %U%q %H" %>s %b %D "%{Referer}i""#,
            r#"::1 - - [28/Nov/2026:17:00:00 +0000] "GET /p?x=1 HTTP/1.1" 200 - 1500 "http://a.example/""#,
        )
        .unwrap();
        assert_eq!((at, request.target.as_str()), (SECOND, "/p?x=1"), "Apache writes when a request arrived");
        assert_eq!(request.headers, [("Referer".to_owned(), "http://a.example/".to_owned())]);
    }

    #[test]
    fn what_does_not_fit_is_none() {
        for line in [
            "",
            "garbage",
            r#"1.2.3.4 - - [28/Nov/2026:17:00:00 +0000] "\x16\x03\x01" 400 0 "-" "-""#,
            r#"1.2.3.4 - - [nonsense] "GET / HTTP/1.1" 200 1"#,
        ] {
            assert_eq!(read("combined", line), None, "{line}");
        }
    }

    #[test]
    fn a_format_without_time_or_request_is_refused() {
        for (format, why) in [
            ("$request", "has no time"),
            ("$msec $status", "has no request"),
            ("%t%r", "nothing between"),
            ("%{%Y}t %r", "is not supported"),
            ("json", "has no time"),
        ] {
            assert!(LogFormat::parse(format).unwrap_err().contains(why), "{format}");
        }
    }
}
