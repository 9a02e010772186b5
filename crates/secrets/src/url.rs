//! Credentials in URLs, anywhere in a string.

use crate::mask::MASK;
use crate::names::is_credential;

/// The parts of a URL that may contain credentials.
struct UrlParts<'a> {
    /// Everything up to and including `://`.
    before: &'a str,
    authority: &'a str,
    /// Path and query.
    path: &'a str,
}

/// Splits a string into pieces that each end with a URL, and the rest after the last URL.
fn split(text: &str) -> (Vec<UrlParts<'_>>, &str) {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'')).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        let end = tail.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(tail.len());
        let (path, after) = tail.split_at(end);
        found.push(UrlParts { before, authority, path });
        rest = after;
    }
    (found, rest)
}

/// User, password and host.
fn login(authority: &str) -> Option<(&str, &str, &str)> {
    let (login, host) = authority.rsplit_once('@')?;
    let (user, password) = login.split_once(':')?;
    Some((user, password, host))
}

/// Passwords, and values of query parameters with credential names, as written and percent-decoded.
pub(crate) fn credentials(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    for url in split(text).0 {
        values.extend(login(url.authority).map(|(_, password, _)| password.to_owned()));
        let query = url.path.split_once('?').map_or("", |(_, query)| query);
        values.extend(query_values(query));
    }
    with_decoded(values)
}

/// Values of query parameters with credential names, as written and percent-decoded.
pub(crate) fn query_credentials(query: &str) -> Vec<String> {
    with_decoded(query_values(query).collect())
}

fn query_values(query: &str) -> impl Iterator<Item = String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| is_credential(name)).map(|(_, value)| value.to_owned())
}

fn with_decoded(mut values: Vec<String>) -> Vec<String> {
    let decoded: Vec<String> = values.iter().filter_map(|value| percent_decoded(value)).collect();
    values.extend(decoded);
    values
}

/// `scheme://user:password@host/?token=abc` → `scheme://user:•••@host/?token=•••`.
pub(crate) fn without_credentials(text: &str) -> String {
    let (found, rest) = split(text);
    let mut out = String::with_capacity(text.len());
    for UrlParts { before, authority, path } in found {
        out.push_str(before);
        match login(authority) {
            Some((user, _, host)) => out.push_str(&format!("{user}:{}@{host}", MASK)),
            None => out.push_str(authority),
        }
        match path.split_once('?') {
            Some((path, query)) => out.push_str(&format!("{path}?{}", without_query_credentials(query))),
            None => out.push_str(path),
        }
    }
    out.push_str(rest);
    out
}

fn without_query_credentials(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_credential(name) => format!("{name}={}", MASK),
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

/// `None` if nothing is encoded, or the decoded bytes are not valid text.
fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|decoded| decoded != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passwords_are_removed_from_urls() {
        for (text, shown) in [
            ("postgres://app:hunter2@db:5432/shop?sslmode=on", "postgres://app:•••@db:5432/shop?sslmode=on"),
            ("see http://a:b@c/ and https://d:e@f", "see http://a:•••@c/ and https://d:•••@f"),
            ("redis://:pa@ss@host", "redis://:•••@host"),
            ("http://user@host/x", "http://user@host/x"),
            ("http://host/mail@example.org:80", "http://host/mail@example.org:80"),
            ("postgres://db/shop?user=app&password=hunter2&x=1 failed", "postgres://db/shop?user=app&password=•••&x=1 failed"),
            ("\"http://host/metrics?api_key=k\" and a=b", "\"http://host/metrics?api_key=•••\" and a=b"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
