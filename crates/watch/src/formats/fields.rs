//! Fields of comma-separated lines (RFC 4180), read without a copy where a field has no quotes.

use std::borrow::Cow;

/// Splits one line. A quoted field may contain commas and doubled quotes.
pub(super) fn split(line: &str) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::with_capacity(18);
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (field, after) = quoted_field(quoted);
            fields.push(field);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => return fields,
            }
        } else {
            match memchr::memchr(b',', rest.as_bytes()) {
                Some(at) => {
                    fields.push(Cow::Borrowed(&rest[..at]));
                    rest = &rest[at + 1..];
                }
                None => {
                    fields.push(Cow::Borrowed(rest));
                    return fields;
                }
            }
        }
    }
}

/// The field after its opening quote, and the rest of the line after its closing quote.
fn quoted_field(text: &str) -> (Cow<'_, str>, &str) {
    let bytes = text.as_bytes();
    let (mut at, mut has_quotes) = (0, false);
    while let Some(found) = memchr::memchr(b'"', &bytes[at..]) {
        at += found;
        if bytes.get(at + 1) == Some(&b'"') {
            has_quotes = true;
            at += 2;
        } else {
            let field = &text[..at];
            return (if has_quotes { Cow::Owned(field.replace("\"\"", "\"")) } else { Cow::Borrowed(field) }, &text[at + 1..]);
        }
    }
    (Cow::Borrowed(text), "")
}

/// Whether a quoted field continues in the next line.
pub(super) fn is_open(line: &[u8]) -> bool {
    memchr::memchr_iter(b'"', line).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_protect_commas() {
        assert_eq!(split("a,\"b,\"\"c\"\"\",,d"), ["a", "b,\"c\"", "", "d"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("\"open"), ["open"]);
        assert!(is_open(b"a,\"b") && !is_open(b"a,\"b\""));
    }
}
