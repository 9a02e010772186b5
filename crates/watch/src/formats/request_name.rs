//! Names for requests that the record identifies only by their path.

/// Longest part of a path that is taken for a word.
const WORD_BYTES_MAX: usize = 40;

/// `GET /orders/{id}` from a method and a URL or path. Parts that identify one thing become `{id}`; query and fragment are left out.
pub(crate) fn of_url(method: &str, url: &str) -> String {
    let after_host = match url.find("://") {
        Some(scheme) => url[scheme + 3..].find('/').map_or("/", |slash| &url[scheme + 3 + slash..]),
        None => url,
    };
    let path = after_host.split(['?', '#']).next().unwrap_or("/");
    let mut name = String::with_capacity(method.len() + path.len() + 1);
    name.push_str(method);
    if !method.is_empty() {
        name.push(' ');
    }
    for (index, part) in path.split('/').enumerate() {
        if index > 0 {
            name.push('/');
        }
        name.push_str(if is_id(part) { "{id}" } else { part });
    }
    name
}

/// Numbers, UUIDs and other long hexadecimal or random parts. `v1` is a word.
fn is_id(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') && digits > 0;
    !part.is_empty() && (digits == part.len() || is_hex || part.len() > WORD_BYTES_MAX || (digits >= 4 && !part.contains('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_identify_one_thing_share_a_name() {
        for (url, name) in [
            ("http://shop:8080/v1/orders/4711?x=1", "GET /v1/orders/{id}"),
            ("/users/7f3c1e9a-4b0d-4c55-9a43-aa0f1c8d2e11/cart", "GET /users/{id}/cart"),
            ("http://shop", "GET /"),
            ("/app-2.js", "GET /app-2.js"),
            ("/products", "GET /products"),
        ] {
            assert_eq!(of_url("GET", url), name);
        }
    }
}
