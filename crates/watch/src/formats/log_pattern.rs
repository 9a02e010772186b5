//! The pattern of an access log: the `log_format` of nginx or the `LogFormat` of Apache, compiled to literal text and fields.

use crate::error::WatchError;

/// The example in error messages. nginx's `combined` with the request time.
pub(super) const EXAMPLE: &str =
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;

/// What a field means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternField {
    /// `28/Nov/2026:17:40:00 +0000`
    LocalTime,
    /// `2026-11-28T17:40:00+00:00`
    IsoTime,
    /// Since 1970, in units of this many nanoseconds. May have a fraction.
    Epoch(u64),
    /// How long the request took, in units of this many nanoseconds. May have a fraction.
    Duration(u64),
    /// `GET /path HTTP/1.1`
    RequestLine,
    Method,
    Path,
    Status,
    BytesReceived,
    BytesSent,
    Ignored,
}

/// Literal text, or a field up to the literal text that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternPart {
    Text(String),
    Field(PatternField),
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct LogPattern {
    pub(super) parts: Vec<PatternPart>,
    /// The log gives the time of the request's begin, as Apache does.
    pub(super) is_begin: bool,
}

impl LogPattern {
    /// Compiles the pattern of nginx (with `$`) or Apache (with `%`).
    ///
    /// # Errors
    /// The pattern has no time, no duration, no status or no path, or two fields without text between them.
    pub(super) fn compile(written: &str) -> Result<Self, WatchError> {
        let problem = |problem: String| WatchError::LogFormat { problem, example: EXAMPLE };
        let (parts, is_begin) = if written.contains('$') { (nginx(written), false) } else { apache(written).map_err(problem)? };
        let fields = || parts.iter().filter_map(|part| if let PatternPart::Field(field) = part { Some(*field) } else { None });
        let has = |wanted: fn(&PatternField) -> bool| fields().any(|field| wanted(&field));
        let needed = [
            (has(|field| matches!(field, PatternField::Duration(_))), "no time of the request: add $request_time (nginx) or %D (Apache)"),
            (
                has(|field| matches!(field, PatternField::LocalTime | PatternField::IsoTime | PatternField::Epoch(_))),
                "no time of day: add $msec, $time_local (nginx) or %t (Apache)",
            ),
            (has(|field| *field == PatternField::Status), "no status: add $status (nginx) or %>s (Apache)"),
            (
                has(|field| matches!(field, PatternField::RequestLine | PatternField::Path)),
                "no request: add $request (nginx) or %r (Apache)",
            ),
        ];
        if let Some((_, missing)) = needed.iter().find(|(is_there, _)| !is_there) {
            return Err(problem((*missing).to_owned()));
        }
        if parts.windows(2).any(|pair| matches!(pair, [PatternPart::Field(_), PatternPart::Field(_)])) {
            return Err(problem("two fields have no text between them, so they cannot be separated".to_owned()));
        }
        Ok(Self { parts, is_begin })
    }
}

fn push_text(parts: &mut Vec<PatternPart>, text: &str) {
    match parts.last_mut() {
        Some(PatternPart::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(PatternPart::Text(text.to_owned())),
    }
}

/// Variables: <https://nginx.org/en/docs/varindex.html>.
fn nginx(written: &str) -> Vec<PatternPart> {
    let mut parts = Vec::new();
    let mut pieces = written.split('$');
    push_text(&mut parts, pieces.next().unwrap_or(""));
    for piece in pieces {
        let (name, rest) = match piece.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => piece.split_at(piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len())),
        };
        parts.push(PatternPart::Field(match name {
            "time_local" => PatternField::LocalTime,
            "time_iso8601" => PatternField::IsoTime,
            "msec" => PatternField::Epoch(1_000_000_000),
            "request_time" => PatternField::Duration(1_000_000_000),
            "request" => PatternField::RequestLine,
            "request_method" => PatternField::Method,
            "uri" | "request_uri" => PatternField::Path,
            "status" => PatternField::Status,
            "body_bytes_sent" | "bytes_sent" => PatternField::BytesReceived,
            "request_length" => PatternField::BytesSent,
            _ => PatternField::Ignored,
        }));
        push_text(&mut parts, rest);
    }
    parts
}

/// Directives: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Returns whether the time is that of the request's begin.
fn apache(written: &str) -> Result<(Vec<PatternPart>, bool), String> {
    let (mut parts, mut is_begin) = (Vec::new(), true);
    let mut rest = written;
    while let Some(at) = rest.find('%') {
        push_text(&mut parts, &rest[..at].replace("\\\"", "\""));
        let mut directive = rest[at + 1..].trim_start_matches(['<', '>']);
        let mut argument = "";
        if let Some((inner, after)) = directive.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            (argument, directive) = (inner, after);
        }
        let name = directive.chars().next().ok_or_else(|| "it ends with %".to_owned())?;
        rest = &directive[name.len_utf8()..];
        if name == '%' {
            push_text(&mut parts, "%");
            continue;
        }
        let unit = argument.rsplit(':').next().unwrap_or("");
        if name == 't' && argument.starts_with("end:") {
            is_begin = false;
        }
        let field = match (name, unit) {
            ('t', "") => {
                // %t includes its brackets.
                push_text(&mut parts, "[");
                parts.push(PatternPart::Field(PatternField::LocalTime));
                push_text(&mut parts, "]");
                continue;
            }
            ('t', "sec") => PatternField::Epoch(1_000_000_000),
            ('t', "msec") => PatternField::Epoch(1_000_000),
            ('t', "usec") => PatternField::Epoch(1_000),
            ('t', other) => return Err(format!("the time format \"{other}\" is not known: write %t, %{{msec}}t or %{{usec}}t")),
            ('D', _) | ('T', "us") => PatternField::Duration(1_000),
            ('T', "ms") => PatternField::Duration(1_000_000),
            ('T', _) => PatternField::Duration(1_000_000_000),
            ('r', _) => PatternField::RequestLine,
            ('m', _) => PatternField::Method,
            ('U', _) => PatternField::Path,
            ('s', _) => PatternField::Status,
            ('b' | 'B' | 'O', _) => PatternField::BytesReceived,
            ('I', _) => PatternField::BytesSent,
            _ => PatternField::Ignored,
        };
        parts.push(PatternPart::Field(field));
    }
    push_text(&mut parts, &rest.replace("\\\"", "\""));
    Ok((parts, is_begin))
}
