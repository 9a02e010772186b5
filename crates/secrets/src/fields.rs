//! Credentials in the fields of JSON, found without parsing it: bodies may be truncated, embedded in a page, or not quite JSON.

use crate::names::is_credential_field;

/// Bytes of a body that are searched.
const SEARCHED_BYTES_MAX: usize = 256 << 10;
/// A shorter value is more likely a setting (`"tokenType": "bearer"`) than a credential.
const VALUE_LENGTH_MIN: usize = 8;

/// Values of string fields with credential names.
pub(crate) fn credentials(body: &[u8]) -> Vec<String> {
    let body = &body[..body.len().min(SEARCHED_BYTES_MAX)];
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(name) = next_string(body, at) {
        at = name.end;
        let Some(value) = value_after(body, name.end) else { continue };
        at = value.end;
        if value.content.len() >= VALUE_LENGTH_MIN && is_credential_field(name.content) {
            found.extend(decoded(value.content).filter(|value| is_credential_value(value)));
        }
    }
    found
}

/// Whether the value of a string field is a credential, if its name is that of one: not a message, an address or a setting.
pub(crate) fn is_credential_value(value: &str) -> bool {
    value.len() >= VALUE_LENGTH_MIN && !value.contains(char::is_whitespace) && !value.contains("://")
}

/// A string literal: its content, still escaped, and the position after it.
struct StringLiteral<'a> {
    content: &'a [u8],
    end: usize,
}

fn next_string(body: &[u8], from: usize) -> Option<StringLiteral<'_>> {
    let start = from + body.get(from..)?.iter().position(|byte| *byte == b'"')? + 1;
    let mut end = start;
    while end < body.len() && body[end] != b'"' {
        end += if body[end] == b'\\' { 2 } else { 1 };
    }
    // A body that is cut ends within a value.
    let end = end.min(body.len());
    Some(StringLiteral { content: &body[start..end], end: end + 1 })
}

/// The string after the colon that follows a name.
fn value_after(body: &[u8], from: usize) -> Option<StringLiteral<'_>> {
    let skip = |from: usize| Some(from + body.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?);
    let colon = skip(from)?;
    let quote = skip(colon + 1)?;
    if body[colon] != b':' || body[quote] != b'"' {
        return None;
    }
    next_string(body, quote)
}

fn decoded(content: &[u8]) -> impl Iterator<Item = String> {
    let text = String::from_utf8_lossy(content).into_owned();
    let plain = text.contains('\\').then(|| serde_json::from_str::<String>(&format!("\"{text}\"")).ok()).flatten();
    std::iter::once(plain.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_credential_names_are_found_in_any_text() {
        for (body, found) in [
            (r#"{"access_token":"eyJ.aa-1","token_type":"bearer77","expires_in":3600}"#, vec!["eyJ.aa-1"]),
            (r#"{"user":{"name":"ann","clientSecret" : "a\"b\u00e4 c".repeat}"#, vec![]),
            (r#"{"user":{"name":"ann","clientSecret" : "a\"b\u00e4cdef"}}"#, vec!["a\"bäcdef"]),
            (r#"[{"apiKey":"key-00001"},{"api_key":"key-00002"}, "token", "abcdefgh"]"#, vec!["key-00001", "key-00002"]),
            (r#"<script>window.state = {"csrfToken":"c5rf-t0ken"}</script>"#, vec!["c5rf-t0ken"]),
            (r#"{"note":"\"token\":\"abcdefgh\"","password2":"hunter2hunter2"}"#, vec!["hunter2hunter2"]),
            (r#"{"session_token":"cut-off-he"#, vec!["cut-off-he"]),
            (r#"{"token_endpoint":"https://auth/token","total_tokens":1234567890,"token":"https://auth/abc"}"#, vec![]),
            (r#"{"password":"is too short","token":null,"secret":["abcdefgh"]}"#, vec![]),
            ("\"", vec![]),
            ("\"token\":\"\\", vec![]),
        ] {
            assert_eq!(credentials(body.as_bytes()), found, "{body}");
        }
    }
}
