//! One user's cookies. An empty jar costs a pointer.

use std::cell::RefCell;

use cookie_store::{CookieStore, RawCookie};
use url::Url;

use super::headers::Headers;

/// Limit on the cookies of one user. Further ones are not stored. RFC 6265, section 6.1, requires at least 50 per domain.
const COOKIES_MAX: usize = 200;
/// Longest cookie in bytes, including name and attributes. The same section requires at least 4096.
const COOKIE_BYTES_MAX: usize = 8192;

#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    store: RefCell<Option<Box<CookieStore>>>,
}

impl CookieJar {
    pub(crate) fn is_empty(&self) -> bool {
        self.store.borrow().is_none()
    }

    pub(crate) fn clear(&self) {
        *self.store.borrow_mut() = None;
    }

    pub(crate) fn take_from(&self, headers: &Headers, url: &Url) {
        let mut store = self.store.borrow_mut();
        for line in headers.all("set-cookie").filter(|line| line.len() <= COOKIE_BYTES_MAX) {
            let store = store.get_or_insert_default();
            if let Ok(cookie) = RawCookie::parse(line.to_owned())
                && (store.iter_any().count() < COOKIES_MAX || store.get_request_values(url).any(|(name, _)| name == cookie.name()))
            {
                // A cookie for another domain is refused. This is a matter between the server and its author.
                let _ = store.insert_raw(&cookie, url);
            }
        }
    }

    /// The `Cookie` value for a request. The caller's own cookies are listed first and take precedence. `None`: there is nothing to add.
    pub(crate) fn value_for(&self, url: &Url, explicit: Option<&str>) -> Option<String> {
        let store = self.store.borrow();
        let store = store.as_deref()?;
        let is_explicit = |name: &str| {
            explicit.is_some_and(|explicit| explicit.split(';').any(|pair| pair.split_once('=').is_some_and(|(key, _)| key.trim() == name)))
        };
        let mut value = explicit.unwrap_or_default().to_owned();
        let mut added = false;
        for (name, content) in store.get_request_values(url) {
            if is_explicit(name) {
                continue;
            }
            if !value.is_empty() {
                value.push_str("; ");
            }
            value.push_str(name);
            value.push('=');
            value.push_str(content);
            added = true;
        }
        added.then_some(value)
    }

    /// Value of a cookie that a request to `url` would carry.
    pub(crate) fn get(&self, url: &Url, name: &str) -> Option<String> {
        let store = self.store.borrow();
        store.as_deref()?.get_request_values(url).find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    }

    /// Sets a cookie as if a server at `url` had set it.
    pub(crate) fn set(&self, url: &Url, name: &str, value: &str) {
        let headers: Headers = [("set-cookie", format!("{name}={value}; Path=/"))].into_iter().collect();
        self.take_from(&headers, url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn jar(at: &str, lines: &[&str]) -> CookieJar {
        let jar = CookieJar::default();
        jar.take_from(&lines.iter().map(|line| ("set-cookie", *line)).collect(), &url(at));
        jar
    }

    #[test]
    fn cookies_are_returned_to_their_origin() {
        let jar = jar(
            "http://shop.example/v1/login",
            &[
                "id=7; Path=/",
                "deep=1; Path=/v1",
                "safe=1; Secure; Path=/",
                "all=1; Domain=example; Path=/",
                "foreign=1; Domain=other.org",
                "old=1; Max-Age=0",
            ],
        );
        let sorted = |to: &str| {
            let value = jar.value_for(&url(to), None).unwrap_or_default();
            let mut pairs: Vec<String> = value.split("; ").map(str::to_owned).collect();
            pairs.sort();
            pairs.join("; ")
        };
        assert_eq!(sorted("http://shop.example/"), "all=1; id=7");
        assert_eq!(sorted("http://shop.example/v1/x"), "all=1; deep=1; id=7");
        assert_eq!(sorted("http://www.example/"), "all=1");
        assert_eq!(sorted("http://other.org/"), "");
        assert_eq!(jar.get(&url("http://shop.example/"), "id").as_deref(), Some("7"));
        jar.clear();
        assert!(jar.is_empty());
    }

    #[test]
    fn the_callers_cookies_take_precedence() {
        let jar = jar("http://h/", &["a=jar; Path=/", "b=jar; Path=/"]);
        assert_eq!(jar.value_for(&url("http://h/"), Some("a=mine")).unwrap(), "a=mine; b=jar");
        jar.set(&url("http://h/x/y"), "c", "set");
        assert_eq!(jar.get(&url("http://h/"), "c").as_deref(), Some("set"));
    }

    #[test]
    fn a_server_cannot_exhaust_the_memory() {
        let jar = CookieJar::default();
        for number in 0..1000 {
            jar.take_from(&[("set-cookie", format!("c{number}={}", "x".repeat(100)))].into_iter().collect(), &url("http://h/"));
        }
        let value = jar.value_for(&url("http://h/"), None).unwrap();
        assert_eq!(value.split("; ").count(), COOKIES_MAX);
    }
}
