//! Format strings: nginx's `log_format` and Apache's `LogFormat`, as literal text and fields.

/// Literal text, or a field up to the literal text that follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FormatPart {
    Text(String),
    Field(LogField),
}

/// What a field means.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LogField {
    /// When the line was written, at the end of the request (nginx).
    End(InstantForm),
    /// When the request arrived (Apache).
    Begin(InstantForm),
    /// `GET /path HTTP/1.1`
    RequestLine,
    Method,
    Target,
    /// The query alone, with or without its question mark.
    Query,
    /// In units of this many nanoseconds.
    Duration(u64),
    Status,
    /// A day whose [`LogField::EndOfDay`] follows.
    Day,
    /// The time of that day at which the line was written, in UTC.
    EndOfDay,
    /// Bytes of the response.
    BytesSent,
    /// Bytes of the request.
    BytesReceived,
    Header(String),
    Ignored,
}

/// How an instant is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum InstantForm {
    /// A date with a time of day, in any of the usual forms.
    Date,
    /// A number since 1970 in units of this many nanoseconds.
    Epoch(u64),
}

pub(super) const SECOND_NS: u64 = 1_000_000_000;
pub(super) const MILLISECOND_NS: u64 = 1_000_000;
const MICROSECOND_NS: u64 = 1_000;

/// <https://nginx.org/en/docs/varindex.html>
pub(super) fn nginx(format: &str) -> Vec<FormatPart> {
    variables(format, |_| None)
}

/// `$variables` of nginx, and those that this function knows.
pub(super) fn variables(format: &str, other: fn(&str) -> Option<LogField>) -> Vec<FormatPart> {
    let (mut parts, mut rest) = (Vec::new(), format);
    while let Some(at) = rest.find('$') {
        push_text(&mut parts, &rest[..at]);
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => after.split_at(after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len())),
        };
        parts.push(FormatPart::Field(match name {
            "time_local" | "time_iso8601" => LogField::End(InstantForm::Date),
            "msec" => LogField::End(InstantForm::Epoch(SECOND_NS)),
            "request" => LogField::RequestLine,
            "request_method" => LogField::Method,
            "request_uri" | "uri" | "document_uri" => LogField::Target,
            "args" | "query_string" => LogField::Query,
            "request_time" => LogField::Duration(SECOND_NS),
            "status" => LogField::Status,
            "body_bytes_sent" | "bytes_sent" => LogField::BytesSent,
            "request_length" => LogField::BytesReceived,
            name => match name.strip_prefix("http_") {
                Some(header) => LogField::Header(header.replace('_', "-")),
                None => other(name).unwrap_or(LogField::Ignored),
            },
        }));
        rest = tail;
    }
    push_text(&mut parts, rest);
    parts
}

/// <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>
pub(super) fn apache(format: &str) -> Result<Vec<FormatPart>, String> {
    // As it is written between quotation marks in a configuration.
    let format = format.replace("\\\"", "\"");
    let (mut parts, mut rest) = (Vec::new(), format.as_str());
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
        rest = &after[directive.len_utf8()..];
        if directive == '%' {
            push_text(&mut parts, "%");
            continue;
        }
        parts.push(FormatPart::Field(match (directive, argument) {
            ('t', None) => LogField::Begin(InstantForm::Date),
            ('t', Some(form)) => apache_time(form)?,
            ('r', _) => LogField::RequestLine,
            ('m', _) => LogField::Method,
            ('U', _) => LogField::Target,
            ('q', _) => LogField::Query,
            ('D', _) | ('T', Some("us")) => LogField::Duration(MICROSECOND_NS),
            ('T', Some("ms")) => LogField::Duration(MILLISECOND_NS),
            ('T', _) => LogField::Duration(SECOND_NS),
            ('s', _) => LogField::Status,
            ('b' | 'B' | 'O', _) => LogField::BytesSent,
            ('I', _) => LogField::BytesReceived,
            ('i', Some(header)) => LogField::Header(header.to_owned()),
            _ => LogField::Ignored,
        }));
    }
    push_text(&mut parts, rest);
    Ok(parts)
}

/// `sec`, `begin:msec`, `end:usec`
fn apache_time(form: &str) -> Result<LogField, String> {
    let (is_end, unit) = match form.split_once(':') {
        Some(("end", unit)) => (true, unit),
        Some(("begin", unit)) => (false, unit),
        _ => (false, form),
    };
    let form = match unit {
        "sec" => InstantForm::Epoch(SECOND_NS),
        "msec" => InstantForm::Epoch(MILLISECOND_NS),
        "usec" => InstantForm::Epoch(MICROSECOND_NS),
        _ => return Err(format!("%{{{form}}}t is not supported: use %t, %{{msec}}t or %{{usec}}t")),
    };
    Ok(if is_end { LogField::End(form) } else { LogField::Begin(form) })
}

/// Two texts in a row are one.
fn push_text(parts: &mut Vec<FormatPart>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(FormatPart::Text(last)) => last.push_str(text),
        _ => parts.push(FormatPart::Text(text.to_owned())),
    }
}
