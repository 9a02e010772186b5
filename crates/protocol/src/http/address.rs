//! URLs as people write them, and the parts that requests need.

use std::borrow::Cow;

use thiserror::Error;
use url::form_urlencoded::byte_serialize;
use url::{Host, Url};

use super::message::{Origin, Request};

/// Why a string is not a valid address for a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum UrlError {
    #[error("`{0}` is relative, and there is no target to complete it; write it in full or set `target`")]
    Relative(String),
    #[error("`{text}` is not a URL: {problem}")]
    Malformed { text: String, problem: String },
    #[error("`{text}` has the scheme `{scheme}`; requests go to http:// or https://, sockets to ws:// or wss://")]
    Scheme { text: String, scheme: String },
}

/// Completes and validates a URL. Spaces and other characters that are invalid in a URL are percent-encoded.
pub fn resolve(base: Option<&Url>, text: &str) -> Result<Url, UrlError> {
    let parsed = Url::options().base_url(base).parse(text);
    let url = parsed.map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => UrlError::Relative(text.to_owned()),
        error => UrlError::Malformed { text: text.to_owned(), problem: error.to_string() },
    })?;
    match url.scheme() {
        "http" | "https" | "ws" | "wss" => Ok(url),
        scheme => Err(UrlError::Scheme { text: text.to_owned(), scheme: scheme.to_owned() }),
    }
}

/// As [`resolve`], below a base URL with a path: that path precedes each relative path, also one that begins with a slash.
pub fn resolve_below(base: Option<&Url>, text: &str) -> Result<Url, UrlError> {
    let Some((base, prefix)) = base.map(|base| (base, path_prefix(base))).filter(|(_, prefix)| !prefix.is_empty()) else {
        return resolve(base, text);
    };
    let text = text.trim_matches(|c: char| c <= ' ');
    let is_relative = Url::parse(text) == Err(url::ParseError::RelativeUrlWithoutBase);
    let mut letters = text.bytes();
    let is_slash = |byte: Option<u8>| matches!(byte, Some(b'/' | b'\\'));
    match (letters.next(), letters.next()) {
        _ if !is_relative => resolve(Some(base), text),
        // A host follows two slashes. A query alone, or nothing, means the base itself.
        (first, second) if is_slash(first) && is_slash(second) => resolve(Some(base), text),
        (None | Some(b'?' | b'#'), _) => resolve(Some(base), text),
        (first, _) if is_slash(first) => resolve(Some(base), &format!("{prefix}{text}")),
        _ => resolve(Some(base), &format!("{prefix}/{text}")),
    }
}

/// The path of a base URL that precedes each relative path. Without a slash at its end, so it is empty for a bare origin.
pub fn path_prefix(base: &Url) -> &str {
    base.path().trim_end_matches('/')
}

/// Adds pairs to a URL's query, each percent-encoded.
pub fn add_query<'a>(url: &mut Url, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let mut pairs = pairs.into_iter().peekable();
    if pairs.peek().is_some() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
}

/// Pairs as `application/x-www-form-urlencoded`.
pub fn form<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.extend(byte_serialize(name.as_bytes()));
        out.push('=');
        out.extend(byte_serialize(value.as_bytes()));
    }
    out
}

impl Origin {
    /// The origin of a connection for this URL. The URL must have passed [`resolve`].
    pub fn of(url: &Url) -> Self {
        Self { tls: is_secure(url), host: host_of(url).into_owned(), port: url.port_or_known_default().unwrap_or_default() }
    }

    /// Whether the URL leads to this origin. Does not allocate for names.
    pub(crate) fn serves(&self, url: &Url) -> bool {
        self.tls == is_secure(url) && Some(self.port) == url.port_or_known_default() && self.host == host_of(url)
    }
}

impl Request {
    /// The URL of the request.
    pub fn url(&self) -> Option<Url> {
        let scheme = if self.origin.tls { "https" } else { "http" };
        Url::parse(&format!("{scheme}://{}{}", self.origin.authority(), self.path)).ok()
    }
}

fn is_secure(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss")
}

fn host_of(url: &Url) -> Cow<'_, str> {
    match url.host() {
        Some(Host::Domain(name)) => Cow::Borrowed(name),
        Some(Host::Ipv4(address)) => Cow::Owned(address.to_string()),
        Some(Host::Ipv6(address)) => Cow::Owned(address.to_string()),
        None => Cow::Borrowed(""),
    }
}

/// Path and query as sent.
pub fn path_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        resolve(None, text).unwrap()
    }

    #[test]
    fn addresses_are_completed_and_encoded() {
        let base = url("http://shop.example/v1/");
        let full = |text: &str| resolve(Some(&base), text).unwrap().to_string();
        assert_eq!(full("/a b"), "http://shop.example/a%20b");
        assert_eq!(full("items?q=ü"), "http://shop.example/v1/items?q=%C3%BC");
        assert_eq!(full("https://other/"), "https://other/");
        let mut query = url("http://h/?a=1");
        add_query(&mut query, []);
        assert_eq!(query.as_str(), "http://h/?a=1");
        add_query(&mut query, [("b c", "d&e")]);
        assert_eq!(path_of(&query), "/?a=1&b+c=d%26e");
        assert_eq!(form([("a b", "c=d"), ("e", "")]), "a+b=c%3Dd&e=");
    }

    #[test]
    fn the_path_of_a_base_precedes_each_relative_path() {
        for base in ["http://h:1/engine-rest", "http://h:1/engine-rest/"] {
            let base = url(base);
            let below = |text: &str| resolve_below(Some(&base), text).unwrap().to_string();
            for text in ["/task", "task", " /task ", "\\task", "/./task", "/x/../task"] {
                assert_eq!(below(text), "http://h:1/engine-rest/task", "{text}");
            }
            assert_eq!(below("/task?q=a/b#c"), "http://h:1/engine-rest/task?q=a/b#c");
            assert_eq!(below("/"), "http://h:1/engine-rest/");
            assert_eq!((below(""), below("?q=1")), (base.to_string(), format!("{base}?q=1")));
            // Another address is none of a path below the base.
            assert_eq!(below("//other/task"), "http://other/task");
            assert_eq!(below("\\/other/task"), "http://other/task");
            assert_eq!(below("https://other/task"), "https://other/task");
            assert_eq!(below("/../task"), "http://h:1/task");
            // Redirects and links are relative to the host.
            assert_eq!(resolve(Some(&base), "/task").unwrap().as_str(), "http://h:1/task");
        }
        let origin = url("http://h:1");
        for text in ["/task", "task", "", "?q=1", "//other/", "/a b"] {
            assert_eq!(resolve_below(Some(&origin), text), resolve(Some(&origin), text), "{text}");
        }
        assert_eq!(resolve_below(None, "/a"), Err(UrlError::Relative("/a".to_owned())));
    }

    #[test]
    fn origins_have_bare_hosts_and_ports() {
        assert_eq!(Origin::of(&url("http://[::1]:81/x")), Origin { tls: false, host: "::1".to_owned(), port: 81 });
        assert_eq!(Origin::of(&url("HTTPS://Example.COM")), Origin { tls: true, host: "example.com".to_owned(), port: 443 });
        assert!(Origin::of(&url("wss://a/")).serves(&url("https://a/b")));
        assert!(!Origin::of(&url("http://a/")).serves(&url("https://a/")));
    }

    #[test]
    fn invalid_addresses_are_explained() {
        assert_eq!(resolve(None, "/a"), Err(UrlError::Relative("/a".to_owned())));
        assert!(matches!(resolve(None, "ftp://h/"), Err(UrlError::Scheme { .. })));
        for text in ["http://", "http://a:99999/", "http://[::1/", "http://a b/"] {
            assert!(matches!(resolve(None, text), Err(UrlError::Malformed { .. })), "{text}");
        }
    }
}
