//! User names and passwords of URLs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

/// The `Authorization` value for a URL with a user name (RFC 7617).
pub fn basic_authorization(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut plain = percent_decoded(url.username());
    plain.push(b':');
    plain.extend(percent_decoded(url.password().unwrap_or_default()));
    Some(format!("Basic {}", STANDARD.encode(plain)))
}

/// Decodes `%41` and similar escapes.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_become_basic_authorization() {
        let of = |url: &str| basic_authorization(&Url::parse(url).unwrap());
        // RFC 7617, section 2, and an encoded colon.
        assert_eq!(of("http://Aladdin:open%20sesame@h/").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(of("http://a@h/").unwrap(), "Basic YTo=");
        assert_eq!(of("http://h/"), None);
    }
}
