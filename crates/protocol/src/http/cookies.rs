//! The cookies of one user, or of one jar of a script. An empty jar costs a pointer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;

use cookie_store::{Cookie, CookieStore, RawCookie, StoreAction};
use thiserror::Error;
use url::{Host, Url};

use super::headers::Headers;
use super::raw_bytes::{shown, to_bytes};
use crate::token::is_token;

/// Limit on the cookies of one user. Further ones are not stored. RFC 6265, section 6.1, requires at least 50 per domain.
const COOKIES_MAX: usize = 200;
/// Longest cookie in bytes, including name and attributes. The same section requires at least 4096.
const COOKIE_BYTES_MAX: usize = 8192;

/// Cookies, and which requests carry them.
#[derive(Debug, Default)]
pub struct CookieJar {
    kept: RefCell<Option<Box<KeptCookies>>>,
}

/// A cookie of one call, in addition to those of the jar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCookie {
    pub name: String,
    pub value: String,
    /// Cookies of the jar with this name are not sent.
    pub replaces: bool,
}

/// Identifies a cookie (RFC 6265, section 5.3).
#[derive(Debug, PartialEq, Eq)]
struct CookieKey {
    name: String,
    domain: String,
    path: String,
}

#[derive(Debug, Default)]
struct KeptCookies {
    store: CookieStore,
    /// In the order of their creation, which the store does not have.
    created: Vec<CookieKey>,
}

/// A cookie that cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CookieError {
    #[error("a cookie's name consists of letters, digits and characters such as - and _, and cannot be empty")]
    Name,
    #[error(
        "a cookie's value cannot contain a semicolon or a control character, or begin or end with a space: encode it, with encodeURIComponent(…)"
    )]
    Value,
    #[error("a cookie can have at most {COOKIE_BYTES_MAX} bytes, with its name")]
    Length,
    #[error("a user can have at most {COOKIES_MAX} cookies")]
    Count,
    #[error("a cookie whose name begins with __Host- or __Secure- can only be set for an https:// URL or for this machine")]
    Prefix,
}

impl KeptCookies {
    fn has_room_for(&self, name: &str, url: &Url) -> bool {
        self.store.iter_any().count() < COOKIES_MAX || self.store.matches(url).iter().any(|cookie| cookie.name() == name)
    }

    fn insert(&mut self, raw: &RawCookie<'_>, url: &Url) {
        if !has_what_its_prefix_promises(raw, url) {
            return;
        }
        // A cookie for another domain is refused. This is a matter between the server and its author.
        let Ok(cookie) = Cookie::try_from_raw_cookie(raw, url) else { return };
        let key = CookieKey::of(&cookie);
        match self.store.insert(cookie.into_owned(), url) {
            Ok(StoreAction::ExpiredExisting) => self.created.retain(|known| *known != key),
            // A cookie that replaces another one keeps its age (RFC 6265, section 5.3, step 11.3).
            Ok(_) if !self.created.contains(&key) => self.created.push(key),
            Ok(_) | Err(_) => {}
        }
    }

    /// The cookies for a request: longer paths first, then older cookies first (RFC 6265, section 5.4).
    fn for_request(&self, url: &Url) -> Vec<&Cookie<'static>> {
        let mut cookies = self.store.matches(url);
        let age = |cookie: &Cookie<'_>| {
            let key = CookieKey::of(cookie);
            self.created.iter().position(|known| *known == key)
        };
        cookies.sort_by_cached_key(|cookie| (Reverse(cookie.path.len()), age(cookie)));
        cookies
    }
}

impl CookieKey {
    fn of(cookie: &Cookie<'_>) -> Self {
        Self { name: cookie.name().to_owned(), domain: String::from(&cookie.domain), path: String::from(&cookie.path) }
    }
}

impl CookieJar {
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.borrow().is_none()
    }

    pub(crate) fn clear(&self) {
        *self.kept.borrow_mut() = None;
    }

    /// The `Cookie` value of a request to `url` without cookies from its caller. `None`: it carries none.
    pub fn cookies(&self, url: &Url) -> Option<String> {
        self.value_for(url, None)
    }

    /// Stores a cookie as if a server at `url` had sent this `Set-Cookie` value.
    pub fn take_cookie(&self, url: &Url, set_cookie: &str) {
        self.take_from(&[("set-cookie", set_cookie)].into_iter().collect(), url);
    }

    pub(crate) fn take_from(&self, headers: &Headers, url: &Url) {
        let mut kept = self.kept.borrow_mut();
        // RFC 6265bis, section 5.6: a line with a control character sets no cookie.
        let is_clean = |line: &Cow<'_, str>| {
            to_bytes(line).len() <= COOKIE_BYTES_MAX && !line.contains(|letter: char| letter.is_ascii_control() && letter != '\t')
        };
        for line in headers.cookies().filter(is_clean) {
            let kept = kept.get_or_insert_default();
            if let Ok(cookie) = RawCookie::parse(line.into_owned())
                && kept.has_room_for(cookie.name(), url)
            {
                kept.insert(&cookie, url);
            }
        }
    }

    /// The `Cookie` value for a request, whose bytes are those of [`to_bytes`]. The caller's own cookies are listed first and take precedence. `None`:
    /// there is nothing to add.
    pub(crate) fn value_for(&self, url: &Url, explicit: Option<&str>) -> Option<String> {
        let kept = self.kept.borrow();
        let kept = kept.as_deref()?;
        let is_explicit = |name: &str| {
            explicit.is_some_and(|explicit| explicit.split(';').any(|pair| pair.split_once('=').is_some_and(|(key, _)| key.trim() == name)))
        };
        let mut value = explicit.unwrap_or_default().to_owned();
        let length = value.len();
        for cookie in kept.for_request(url).into_iter().filter(|cookie| !is_explicit(cookie.name())) {
            add_pair(&mut value, cookie.name(), cookie.value());
        }
        (value.len() > length).then_some(value)
    }

    /// The same, with the cookies of the call before those of the jar, whose cookies of the same name are sent, too.
    pub(crate) fn value_with(&self, url: &Url, explicit: Option<&str>, cookies: &[CallCookie]) -> Option<String> {
        let mut value = explicit.unwrap_or_default().to_owned();
        let length = value.len();
        for cookie in cookies {
            add_pair(&mut value, &cookie.name, &cookie.value);
        }
        let is_replaced = |name: &str| cookies.iter().any(|cookie| cookie.replaces && cookie.name == name);
        if let Some(kept) = self.kept.borrow().as_deref() {
            for cookie in kept.for_request(url).into_iter().filter(|cookie| !is_replaced(cookie.name())) {
                add_pair(&mut value, cookie.name(), cookie.value());
            }
        }
        (value.len() > length).then_some(value)
    }

    /// Value of the first cookie of this name that a request to `url` would carry.
    pub(crate) fn get(&self, url: &Url, name: &str) -> Option<String> {
        let kept = self.kept.borrow();
        kept.as_deref()?.for_request(url).into_iter().find(|cookie| cookie.name() == name).map(|cookie| shown(cookie.value()).into_owned())
    }

    /// Sets a cookie as if a server at `url` had set it.
    ///
    /// # Errors
    /// The cookie cannot be sent, or exceeds a limit.
    pub(crate) fn set(&self, url: &Url, name: &str, value: &str) -> Result<(), CookieError> {
        if !is_token(name.as_bytes()) {
            return Err(CookieError::Name);
        }
        if value.chars().any(|letter| letter == ';' || letter.is_control()) || value.trim() != value {
            return Err(CookieError::Value);
        }
        if name.len() + value.len() > COOKIE_BYTES_MAX {
            return Err(CookieError::Length);
        }
        if prefix_of(name).is_some() && !is_secure(url) {
            return Err(CookieError::Prefix);
        }
        let mut kept = self.kept.borrow_mut();
        let kept = kept.get_or_insert_default();
        if !kept.has_room_for(name, url) {
            return Err(CookieError::Count);
        }
        kept.insert(&RawCookie::build((name, value)).path("/").secure(prefix_of(name).is_some()).build(), url);
        Ok(())
    }
}

/// Adds a cookie to the value of a `Cookie` line.
fn add_pair(line: &mut String, name: &str, value: &str) {
    if !line.is_empty() {
        line.push_str("; ");
    }
    line.push_str(name);
    line.push('=');
    line.push_str(value);
}

/// A name that promises attributes (RFC 6265bis, section 4.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CookiePrefix {
    Secure,
    Host,
}

fn prefix_of(name: &str) -> Option<CookiePrefix> {
    let begins_with = |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if begins_with("__Secure-") {
        return Some(CookiePrefix::Secure);
    }
    begins_with("__Host-").then_some(CookiePrefix::Host)
}

/// Whether nobody on the network can read or change its traffic: TLS, or this machine, as in browsers and in curl.
fn is_secure(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || is_local
}

/// Whether a cookie has the attributes that its name promises. User agents drop it otherwise (RFC 6265bis, section 5.7, steps 20 and 21).
fn has_what_its_prefix_promises(cookie: &RawCookie<'_>, url: &Url) -> bool {
    let is_secure = cookie.secure() == Some(true) && is_secure(url);
    match prefix_of(cookie.name()) {
        None => true,
        Some(CookiePrefix::Secure) => is_secure,
        Some(CookiePrefix::Host) => is_secure && cookie.path() == Some("/") && cookie.domain().is_none_or(str::is_empty),
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
        jar.set(&url("http://h/x/y"), "c", "set").unwrap();
        assert_eq!(jar.get(&url("http://h/"), "c").as_deref(), Some("set"));
    }

    #[test]
    fn longer_paths_then_older_cookies_are_sent_first() {
        let lines = ["z=1; Path=/", "a=root; Path=/", "a=deep; Path=/echo", "b=1; Path=/", "m=1; Path=/echo", "c=2; Path=/"];
        for _ in 0..20 {
            let jar = jar("http://h/", &lines);
            let sent = || jar.value_for(&url("http://h/echo/x"), None).unwrap();
            assert_eq!(sent(), "a=deep; m=1; z=1; a=root; b=1; c=2");
            assert_eq!(jar.get(&url("http://h/echo/x"), "a").as_deref(), Some("deep"));
            // A new value keeps the place. A cookie that was deleted and set again is new.
            jar.take_from(
                &[("set-cookie", "z=9; Path=/"), ("set-cookie", "b=1; Path=/; Max-Age=0")].into_iter().collect(),
                &url("http://h/"),
            );
            jar.set(&url("http://h/"), "b", "2").unwrap();
            assert_eq!(sent(), "a=deep; m=1; z=9; a=root; c=2; b=2");
        }
    }

    #[test]
    fn a_cookie_that_would_be_sent_differently_is_refused() {
        let jar = CookieJar::default();
        let at = url("http://h/");
        for (name, value, error) in [
            ("q", "a;b", CookieError::Value),
            ("q", " a", CookieError::Value),
            ("q", "a\nb", CookieError::Value),
            ("", "a", CookieError::Name),
            ("a=b", "c", CookieError::Name),
            ("q r", "a", CookieError::Name),
            ("q", &"x".repeat(COOKIE_BYTES_MAX), CookieError::Length),
        ] {
            assert_eq!(jar.set(&at, name, value), Err(error), "{name}={value}");
        }
        for value in ["", "a b", "\"quoted\"", "a=b", "%3B", "é"] {
            jar.set(&at, "q", value).unwrap();
            assert_eq!(jar.value_for(&at, None).unwrap(), format!("q={value}"));
        }
        for number in 1..COOKIES_MAX {
            jar.set(&at, &format!("c{number}"), "1").unwrap();
        }
        assert_eq!((jar.set(&at, "more", "1"), jar.set(&at, "c1", "2")), (Err(CookieError::Count), Ok(())));
    }

    #[test]
    fn cookies_with_a_prefix_need_its_attributes() {
        for (at, line, is_kept) in [
            ("https://h/", "__Secure-a=1; Secure", true),
            ("https://h/", "__secure-a=1", false),
            ("http://h/", "__Secure-a=1; Secure", false),
            ("https://h/", "__Host-a=1; Secure; Path=/", true),
            ("https://h/", "__HOST-a=1; Path=/", false),
            ("https://h/", "__Host-a=1; Secure", false),
            ("https://h/", "__Host-a=1; Secure; Path=/x", false),
            ("https://h/", "__Host-a=1; Secure; Path=/; Domain=h", false),
            ("http://h/", "__Host-a=1; Secure; Path=/", false),
            ("http://127.0.0.1/", "__Host-a=1; Secure; Path=/", true),
            ("http://127.0.0.1/", "__Host-a=1; Path=/", false),
            ("http://h/", "_Host-a=1", true),
            ("http://h/", "a=__Host-", true),
        ] {
            assert_eq!(jar(at, &[line]).value_for(&url(at), None).is_some(), is_kept, "{at} {line}");
        }
        let jar = CookieJar::default();
        assert_eq!(jar.set(&url("http://h/"), "__Host-a", "1"), Err(CookieError::Prefix));
        jar.set(&url("https://h/x"), "__Host-a", "1").unwrap();
        assert_eq!(jar.get(&url("https://h/"), "__Host-a").as_deref(), Some("1"));
        assert_eq!(jar.get(&url("http://h/"), "__Host-a"), None);
    }

    #[test]
    fn a_line_with_a_control_character_sets_no_cookie() {
        let jar = jar("http://h/", &["a=1\u{1}", "b=2; X=\u{7f}", "c=3\t; Path=/"]);
        assert_eq!(jar.value_for(&url("http://h/"), None).as_deref(), Some("c=3"));
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
