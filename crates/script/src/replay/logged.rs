//! A recorded request, and which of its parts are sent again.

use serde::{Deserialize, Serialize};

/// Methods that change no data (RFC 9110, section 9.2.1).
const READING_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Headers that belong to the recorded connection, or that the client sets itself.
const CONNECTION_HEADERS: [&str; 13] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
    "via",
];

/// A request of a record. Credentials are not part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoggedRequest {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl LoggedRequest {
    /// `None`: the method or the target is none.
    pub(crate) fn new(method: &str, target: &str) -> Option<Self> {
        let is_method = (1..=32).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
        let target = without_origin(target)?;
        let is_target = target.bytes().all(|byte| byte > b' ' && byte != 0x7f);
        (is_method && is_target).then(|| Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() })
    }

    /// Adds a header, unless it is a credential or belongs to the recorded connection.
    pub(crate) fn header(&mut self, name: &str, value: &str) {
        let lower = name.to_ascii_lowercase();
        let is_sent = !name.is_empty()
            && !name.starts_with(':')
            && !value.is_empty()
            && value != "-"
            && !CONNECTION_HEADERS.contains(&lower.as_str())
            && !loadstone_secrets::is_credential(name)
            && !value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f);
        if is_sent {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// Whether a request with this method may change data.
pub(super) fn changes_data(method: &str) -> bool {
    !READING_METHODS.contains(&method)
}

/// The path and query of a URL. A record may come from another host than the target.
fn without_origin(target: &str) -> Option<&str> {
    if target.starts_with('/') {
        return Some(target);
    }
    let (_, rest) = target.split_once("://")?;
    Some(rest.find('/').map_or("/", |at| &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_headers_of_the_connection_are_not_sent_again() {
        let mut request = LoggedRequest::new("GET", "https://shop.example/a?b=c").unwrap();
        for (name, value) in [
            ("Authorization", "Bearer abc"),
            ("Cookie", "session=1"),
            ("X-Api-Key", "k"),
            ("Host", "shop.example"),
            ("Content-Length", "3"),
            (":authority", "shop.example"),
            ("Referer", "-"),
            ("X-Split", "a\r\nb"),
            ("User-Agent", "curl/8"),
        ] {
            request.header(name, value);
        }
        assert_eq!((request.target.as_str(), request.headers), ("/a?b=c", vec![("User-Agent".to_owned(), "curl/8".to_owned())]));
    }

    #[test]
    fn what_is_no_request_is_none() {
        for (method, target) in
            [("", "/"), ("get", "/"), ("GET", ""), ("GET", "*"), ("GET", "/a b"), ("\\x16\\x03", "/"), ("CONNECT", "a:443")]
        {
            assert_eq!(LoggedRequest::new(method, target), None, "{method} {target}");
        }
        assert_eq!(LoggedRequest::new("GET", "http://shop.example").unwrap().target, "/");
    }
}
