//! Hides parts of a request and its response by their names, for a screen or a CI log.
//!
//! This module knows no values. [`Secrets`](crate::Secrets) hides known values wherever they occur.

use crate::fields::is_credential_value;
use crate::mask::MASK;
use crate::names::{is_credential, is_credential_field, is_password};

/// Many services accept a credential as some `key`. Masking too much is acceptable here, since these values are only masked once and not searched for
/// everywhere.
fn is_hidden(name: &str) -> bool {
    is_credential(name) || name.to_ascii_lowercase().contains("key")
}

/// A header's value. Of credentials the scheme remains visible; of cookies, their names and attributes.
pub fn header(name: &str, value: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "cookie" => value.split("; ").map(cookie).collect::<Vec<_>>().join("; "),
        "set-cookie" => match value.split_once(';') {
            Some((pair, attributes)) => format!("{};{attributes}", cookie(pair)),
            None => cookie(value),
        },
        "authorization" | "proxy-authorization" => match value.split_once(' ') {
            Some((scheme, _)) => format!("{scheme} {MASK}"),
            None => MASK.to_owned(),
        },
        "location" | "referer" | "content-location" => url(value),
        _ if is_hidden(name) => MASK.to_owned(),
        _ => value.to_owned(),
    }
}

fn cookie(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    }
}

/// A URL without its password and without the values of secret query parameters.
pub fn url(url: &str) -> String {
    let (url, fragment) = url.split_once('#').map_or((url, None), |(url, fragment)| (url, Some(fragment)));
    let (path, query) = url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query)));
    let mut out = without_password(path);
    if let Some(query) = query {
        out.push('?');
        out.push_str(&form(query));
    }
    if let Some(fragment) = fragment {
        out.push('#');
        out.push_str(&form(fragment));
    }
    out
}

/// `name=value` pairs joined by `&`, as in a query or a form. The values of secret names are masked.
pub fn form(pairs: &str) -> String {
    let masked = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_hidden(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{name}:{MASK}@{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// Hides passwords and tokens in a JSON body. It hides less than for headers: a body contains many fields that only sound like a credential.
pub fn json(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                let is_token = || is_credential_field(name.as_bytes()) && field.as_str().is_some_and(is_credential_value);
                if is_password(name) && !field.is_null() || is_token() {
                    *field = serde_json::Value::String(MASK.to_owned());
                } else {
                    json(field);
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(json),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_show_their_kind_without_their_secret() {
        for (name, value, shown) in [
            ("Authorization", "Bearer abc.def", "Bearer •••"),
            ("authorization", "abcdef", "•••"),
            ("Cookie", "session=abc; theme=dark", "session=•••; theme=•••"),
            ("Set-Cookie", "session=abc; Path=/; HttpOnly", "session=•••; Path=/; HttpOnly"),
            ("X-Api-Key", "abc", "•••"),
            ("X-Functions-Key", "abc", "•••"),
            ("X-CSRF-Token", "abc", "•••"),
            ("client-secret", "abc", "•••"),
            ("Location", "/callback?access_token=abc&state=1", "/callback?access_token=•••&state=1"),
            ("Content-Type", "text/plain", "text/plain"),
        ] {
            assert_eq!(header(name, value), shown);
        }
    }

    #[test]
    fn tokens_and_passwords_of_json_are_hidden() {
        let mut body = serde_json::json!({
            "access_token": "eyJhbGciOi", "token_type": "Bearer", "expires_in": 3600, "usage": { "total_tokens": 57 },
            "user": [{ "password": 1234, "pin": 1 }],
        });
        json(&mut body);
        let shown = serde_json::json!({
            "access_token": "•••", "token_type": "Bearer", "expires_in": 3600, "usage": { "total_tokens": 57 },
            "user": [{ "password": "•••", "pin": 1 }],
        });
        assert_eq!(body, shown);
    }

    #[test]
    fn urls_keep_everything_else() {
        for (given, shown) in [
            ("http://host/a?b=c#d", "http://host/a?b=c#d"),
            ("https://ann:pw@host:8443/a?password=x&b=c", "https://ann:•••@host:8443/a?password=•••&b=c"),
            ("https://token@host/", "https://token:•••@host/"),
            ("/path/with:colon@sign", "/path/with:colon@sign"),
            ("http://host?token=", "http://host?token=•••"),
            ("http://host?key=AIza&page=2", "http://host?key=•••&page=2"),
        ] {
            assert_eq!(url(given), shown);
        }
    }
}
