//! Bodies as text: the byte-order mark decides, then the charset of the content type, then UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// The text of a body. `content_type` is only called for bodies whose text may depend on it, since the header lines must be split to find it.
/// Malformed bytes become U+FFFD.
pub(crate) fn text_of<'b, 'h>(bytes: &'b [u8], content_type: impl FnOnce() -> Option<&'h str>) -> Cow<'b, str> {
    // The text of these bytes is the same in every charset, except in UTF-16, which has NUL bytes, and in ISO 2022, which has escapes.
    if bytes.iter().all(|byte| byte.is_ascii() && !matches!(byte, 0 | 0x1b)) {
        return String::from_utf8_lossy(bytes);
    }
    let (encoding, mark) = match Encoding::for_bom(bytes) {
        Some(found) => found,
        None => (content_type().and_then(charset).unwrap_or(UTF_8), 0),
    };
    encoding.decode_without_bom_handling(&bytes[mark..]).0
}

/// JSON without a byte-order mark, which parsers may ignore (RFC 8259, section 8.1).
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// JSON in another charset than UTF-8, as UTF-8. `None`: it is UTF-8 (RFC 8259, section 8.1), or no other charset is known.
pub(crate) fn json_in_charset<'h>(bytes: &[u8], content_type: impl FnOnce() -> Option<&'h str>) -> Option<String> {
    if std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let (encoding, mark) = Encoding::for_bom(bytes).or_else(|| Some((content_type().and_then(charset)?, 0)))?;
    (encoding != UTF_8).then(|| encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned())
}

/// The encoding of `text/html; charset=iso-8859-1`. The labels are those of the encoding standard, in which this one is windows-1252.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches('"').as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_in_their_charset() {
        for (bytes, content_type, text) in [
            (&b"Caf\xe9"[..], Some("text/html; charset=iso-8859-1"), "Café"),
            (b"Caf\xc3\xa9", Some("text/html; Charset=\"UTF-8\""), "Café"),
            (b"Caf\xc3\xa9", Some("text/html"), "Café"),
            (b"Caf\xc3\xa9", None, "Café"),
            (b"Caf\xc3\xa9", Some("text/html; charset=unheard-of"), "Café"),
            (b"\x93\xfa\x96{", Some("text/plain;charset=Shift_JIS"), "日本"),
            (b"\xff\xfea\0", None, "a"),
            (b"a\0", Some("text/plain; charset=utf-16le"), "a"),
            (b"\xef\xbb\xbfa\xc3\xa9", Some("text/html; charset=iso-8859-1"), "aé"),
            (b"\xff", None, "\u{fffd}"),
        ] {
            assert_eq!(text_of(bytes, || content_type), text, "{content_type:?}");
        }
        assert_eq!(text_of(b"plain", || panic!("not needed")), "plain");
    }
}
