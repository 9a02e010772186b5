//! Default names of requests: `GET /tickets/:id`, so that requests with different identifiers share a series.

use rquickjs::Value;
use url::Url;

/// Method and path. Segments that look like identifiers become `:id`, and the query is omitted.
pub(crate) fn of_request(method: &str, path_and_query: &str) -> String {
    let path = path_and_query.split(['?', '#']).next().unwrap_or("");
    let mut name = String::with_capacity(method.len() + 1 + path.len());
    name.push_str(method);
    name.push(' ');
    for (index, segment) in path.split('/').enumerate() {
        if index > 0 {
            name.push('/');
        }
        name.push_str(if is_identifier(segment) { ":id" } else { segment });
    }
    name
}

/// The name of a request whose arguments cannot be sent. Without a URL that can be read: the method alone.
pub(crate) fn of_refused(method: &str, url: &Value<'_>) -> String {
    let written = url.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    match Url::parse(&written) {
        Ok(url) => of_request(method, url.path()),
        Err(_) if written.starts_with('/') => of_request(method, &written),
        Err(_) => method.to_owned(),
    }
}

/// Whether a segment is a number, a UUID, a hexadecimal string of at least eight digits, or a long string of mixed letters and digits.
fn is_identifier(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if bytes.is_empty() || digits == 0 {
        return false;
    }
    if bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.' | b',' | b':')) {
        return true;
    }
    let hexadecimal = bytes.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-');
    if hexadecimal && bytes.len() >= 8 {
        return true;
    }
    let token = bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'=' | b'~' | b'.' | b'%'));
    // A word with a number (`v2-products`, `page10`) is no identifier. An opaque token is long and has many digits or mixed case.
    let upper = bytes.iter().filter(|b| b.is_ascii_uppercase()).count();
    token && bytes.len() >= 16 && (digits >= 3 || (digits >= 1 && upper >= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_become_one_name_and_words_do_not() {
        for (path, name) in [
            ("/tickets/123?x=1", "GET /tickets/:id"),
            ("/", "GET /"),
            ("/v1/channels/123/products", "GET /v1/channels/:id/products"),
            ("/users/6f9619ff-8b86-d011-b42d-00c04fc964ff/", "GET /users/:id/"),
            ("/commit/9fceb02d0ae598e95dc970b74767f19372d61af8", "GET /commit/:id"),
            ("/files/QmFzZTY0IGlzIGZ1bjE4NjI0", "GET /files/:id"),
            ("/api/v2/page10/deadbeef", "GET /api/v2/page10/deadbeef"),
            ("/day/2026-01-31", "GET /day/:id"),
            ("/very-long-descriptive-segment-2", "GET /very-long-descriptive-segment-2"),
        ] {
            assert_eq!(of_request("GET", path), name);
        }
    }
}
