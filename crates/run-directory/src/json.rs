//! JSON of a run directory's files, with errors that name file and line.

use std::borrow::Cow;
use std::path::Path;

use loadstone_units::text;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RunError;

pub(crate) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, RunError> {
    serde_json::from_slice(&printable(bytes)).map_err(|error| RunError::Corrupt {
        path: path.to_owned(),
        line: error.line(),
        problem: problem(&error),
    })
}

/// JSON whose strings cannot control a terminal. Loadstone writes no other, but a run directory may come from anybody.
pub(crate) fn printable(json: &[u8]) -> Cow<'_, [u8]> {
    let is_suspect = json.iter().any(|byte| *byte == b'\\' || !byte.is_ascii());
    let Some(written) = std::str::from_utf8(json).ok().filter(|_| is_suspect) else { return Cow::Borrowed(json) };
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        let (length, control) = match escape.as_bytes() {
            [_, b'b', ..] => (2, Some('\u{8}')),
            [_, b'f', ..] => (2, Some('\u{c}')),
            [_, b'r', ..] if !escape[2..].starts_with("\\n") => (2, Some('\r')),
            [_, b'u', ..] => (6, escape.get(2..6).and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?))),
            _ => (2, None),
        };
        let length = length.min(escape.len());
        // Half a character cannot be split off.
        let Some((escaped, after)) = escape.split_at_checked(length) else { break };
        out.push_str(before);
        match control.map(String::from).as_deref().map(|control| (control, text::printable(control))) {
            Some((control, shown)) if shown != control => out.push_str(&shown),
            _ => out.push_str(escaped),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(text::printable(&out).into_owned().into_bytes())
}

/// The message without serde's own position: that counts within the line.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rfind(" at line ").map_or(message.clone(), |end| message[..end].to_owned())
}

/// One line of JSON; replaces the content of the buffer.
pub(crate) fn fill<T: Serialize>(buffer: &mut Vec<u8>, value: &T) -> Result<(), RunError> {
    buffer.clear();
    push_line(buffer, value)
}

/// Appends a line of JSON.
pub(crate) fn push_line<T: Serialize>(buffer: &mut Vec<u8>, value: &T) -> Result<(), RunError> {
    serde_json::to_writer(&mut *buffer, value).map_err(|error| RunError::Export { what: "JSON", problem: error.to_string() })?;
    buffer.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_read_json_control_no_terminal() {
        for (json, read) in [
            (r#""a\u001b]52;c;x\u0007\u009b\b\f\u202e""#, "a␛]52;c;x␇�␈␌�"),
            ("\"a\u{9b}b\"", "a�b"),
            (r#""C:\\u001b \"q\" \n\t \/ \u00e4 \ud83d\ude00 a\r\nb c\rd""#, "C:\\u001b \"q\" \n\t / ä 😀 a\r\nb c␍d"),
            ("\"größe — 日本\"", "größe — 日本"),
        ] {
            assert_eq!(serde_json::from_slice::<String>(&printable(json.as_bytes())).unwrap(), read, "{json}");
        }
        for broken in ["\\", "\"\\u", "\"\\uä", "\"\\u12ä4", "\"\\ä"] {
            assert!(serde_json::from_slice::<String>(&printable(broken.as_bytes())).is_err(), "{broken}");
        }
    }
}
