//! What a browser adds to a client: cookies, redirects, and header lines of every request.

use std::cell::RefCell;
use std::rc::Rc;

use loadstone_metrics::Nanos;
use loadstone_metrics::span::RequestLabel;
use url::Url;

use super::address::path_of;
use super::body::SharedBody;
use super::client::Client;
use super::cookies::{CallCookie, CookieError, CookieJar};
use super::message::{BodyUse, Exchange, Origin, Request, Response};
use super::redirect::{is_redirect, redirected};
use super::wire::PreparedRequest;
use crate::allowed_hosts::AllowedHosts;
use crate::credentials::basic_authorization;
use crate::failure::Failure;

/// Limit on the origins that a session remembers, so that their requests share one value.
const ORIGINS_MAX: usize = 32;

/// Settings for all requests of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Keep the cookies that servers set.
    pub cookies: bool,
    /// Header lines that are added if the request has none with that name.
    pub headers: Vec<(String, String)>,
    /// Time limit of each hop, from the start to the last byte. Nanoseconds.
    pub timeout_ns: u64,
    pub body_use: BodyUse,
    pub body_bytes_max: u64,
    /// Hosts to which a response may redirect, in addition to the host that it came from.
    pub redirect_hosts: AllowedHosts,
    /// A redirect beyond the limit is the result, as in k6. Otherwise it is a failure.
    pub returns_excess_redirect: bool,
    /// A request that follows a redirect names the address before it in `Referer`, as Go's client does.
    pub sends_referer: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            cookies: true,
            headers: vec![("User-Agent".to_owned(), concat!("loadstone/", env!("CARGO_PKG_VERSION")).to_owned())],
            timeout_ns: 30_000_000_000,
            body_use: BodyUse::Keep,
            body_bytes_max: 64 << 20,
            redirect_hosts: AllowedHosts::default(),
            returns_excess_redirect: false,
            sends_referer: false,
        }
    }
}

/// One virtual user's client with cookies and redirects. It supports several requests at once.
#[derive(Debug)]
pub struct HttpSession {
    client: Client,
    options: SessionOptions,
    jar: Rc<CookieJar>,
    origins: RefCell<Vec<Rc<Origin>>>,
}

/// Which cookies a request carries, in addition to those in its own headers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CookieUse<'a> {
    /// Those of this jar, which stores those of the responses.
    Jar(&'a CookieJar),
    /// These, and those of the jar, in each hop. As in k6, cookies of the same name are all sent, and a redirect drops the request's own line.
    Both(&'a CookieJar, &'a [CallCookie]),
    Nothing,
}

/// One request of a redirect chain, as sent, and its result.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Shared with the prepared request that was sent.
    pub request: Rc<Request>,
    pub exchange: Exchange,
}

impl Hop {
    /// The URL of the request.
    pub fn url(&self) -> Option<Url> {
        self.request.url()
    }
}

/// A request and the redirects that followed it.
#[derive(Debug, Clone)]
pub struct Hops {
    /// The hop with the final response.
    pub last: Hop,
    /// The redirects before it, in order.
    pub before: Vec<Hop>,
}

/// The request to which a response redirects, with the session's cookies.
pub(crate) struct NextHop {
    pub(crate) request: Request,
    /// The cookies of the original request.
    pub(crate) original_cookie: Option<String>,
}

impl Hops {
    /// All hops in order.
    pub fn iter(&self) -> impl Iterator<Item = &Hop> {
        self.before.iter().chain([&self.last])
    }
}

impl HttpSession {
    pub fn new(client: Client, options: SessionOptions) -> Self {
        Self { client, options, jar: Rc::default(), origins: RefCell::default() }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A request for a URL, with the session's limits. A user name in the URL becomes basic authorization.
    pub fn request(&self, method: &str, url: &Url) -> Request {
        let headers = basic_authorization(url).map(|value| ("Authorization".to_owned(), value)).into_iter().collect();
        Request {
            origin: self.origin(url),
            method: method.into(),
            path: path_of(url),
            headers,
            body: SharedBody::default(),
            trailers: None,
            timeout_ns: self.options.timeout_ns,
            body_use: self.options.body_use,
            body_bytes_max: self.options.body_bytes_max,
            label: RequestLabel::default(),
            source: None,
        }
    }

    /// Sends a request and follows up to `redirects_max` redirects. With 0, it returns the first response.
    ///
    /// Redirects beyond the limit, or to a URL that is not http, are a failure of the last hop.
    pub async fn send(&self, request: Request, redirects_max: u8) -> Hops {
        self.send_as(request, redirects_max, CookieUse::Jar(&self.jar), self.client.now()).await
    }

    /// Like [`HttpSession::send`], for a caller that has just read the clock. The first exchange starts at that instant.
    pub async fn send_at(&self, request: Request, redirects_max: u8, now: Nanos) -> Hops {
        self.send_as(request, redirects_max, CookieUse::Jar(&self.jar), now).await
    }

    /// Like [`HttpSession::send_at`], with the cookies of another jar instead of the session's, and those of the call.
    pub async fn send_with_cookies_at(
        &self,
        request: Request,
        redirects_max: u8,
        (jar, cookies): (&CookieJar, &[CallCookie]),
        now: Nanos,
    ) -> Hops {
        self.send_as(request, redirects_max, CookieUse::Both(jar, cookies), now).await
    }

    /// Like [`HttpSession::send_at`], but the session's cookies are not sent, and those of the responses are not stored.
    pub async fn send_without_cookies_at(&self, request: Request, redirects_max: u8, now: Nanos) -> Hops {
        self.send_as(request, redirects_max, CookieUse::Nothing, now).await
    }

    async fn send_as(&self, mut request: Request, redirects_max: u8, cookie_use: CookieUse<'_>, now: Nanos) -> Hops {
        let original_cookie = self.complete(&mut request, cookie_use);
        let exchange = self.client.send_at(&request, now).await;
        let request = Rc::new(request);
        if self.is_last(&exchange, redirects_max) {
            return Hops { last: Hop { request, exchange }, before: Vec::new() };
        }
        Box::pin(self.follow(request, original_cookie, exchange, redirects_max, cookie_use)).await
    }

    /// A request with the session's header lines, ready for [`Client::send_prepared`]. This is the cheapest form as long as there are no cookies and
    /// no redirects.
    ///
    /// # Errors
    /// The request cannot be sent (for example, a line break in a header).
    pub fn prepare(&self, mut request: Request) -> Result<PreparedRequest, Failure> {
        self.add_headers(&mut request);
        PreparedRequest::new(&request)
    }

    /// Whether requests may have to carry cookies. [`HttpSession::send`] adds them; the client alone does not.
    pub fn has_cookies(&self) -> bool {
        !self.jar.is_empty()
    }

    /// Whether a response is the last one: it sets no cookies and does not redirect. If it is not, and the request was prepared, continue with
    /// [`HttpSession::follow_prepared`].
    pub fn is_last(&self, exchange: &Exchange, redirects_max: u8) -> bool {
        match &exchange.result {
            Ok(response) => !response.headers.sets_cookies() && (redirects_max == 0 || !is_redirect(response.status)),
            Err(_) => true,
        }
    }

    /// Continues from the client's response to a prepared request, like [`HttpSession::send`] from a first response.
    pub async fn follow_prepared(&self, prepared: &PreparedRequest, first: Exchange, redirects_max: u8) -> Hops {
        let request = Rc::clone(&prepared.request);
        let original_cookie = own_cookie(&request).map(|position| request.headers[position].1.clone());
        self.follow(request, original_cookie, first, redirects_max, CookieUse::Jar(&self.jar)).await
    }

    /// Continues from a first response: stores its cookies, and follows its redirects.
    async fn follow(
        &self,
        mut request: Rc<Request>,
        mut original_cookie: Option<String>,
        mut exchange: Exchange,
        redirects_max: u8,
        cookie_use: CookieUse<'_>,
    ) -> Hops {
        let mut before = Vec::new();
        loop {
            match self.next(&request, original_cookie, &exchange, (before.len(), redirects_max), cookie_use) {
                None => return Hops { last: Hop { request, exchange }, before },
                Some(Err(failure)) => {
                    exchange.fail_answered(failure);
                    return Hops { last: Hop { request, exchange }, before };
                }
                Some(Ok(next)) => {
                    before.push(Hop { request, exchange });
                    (request, original_cookie) = (Rc::new(next.request), next.original_cookie);
                    exchange = self.client.send(&request).await;
                }
            }
        }
    }

    /// Stores a response's cookies, and returns the request to which it redirects. `None`: the response is the last. `Err`: it exceeds the limit on
    /// redirects, or redirects to a URL that is not http.
    pub(crate) fn next(
        &self,
        request: &Request,
        original_cookie: Option<String>,
        exchange: &Exchange,
        (followed, redirects_max): (usize, u8),
        cookie_use: CookieUse<'_>,
    ) -> Option<Result<NextHop, Failure>> {
        let response = exchange.result.as_ref().ok()?;
        if let CookieUse::Jar(jar) | CookieUse::Both(jar, _) = cookie_use {
            self.take_cookies(jar, request, response);
        }
        if redirects_max == 0 {
            return None;
        }
        if self.options.returns_excess_redirect && followed >= usize::from(redirects_max) {
            return None;
        }
        let (mut following, url) = match redirected(request, response, original_cookie)? {
            Ok(following) => following,
            Err(failure) => return Some(Err(failure)),
        };
        if followed >= usize::from(redirects_max) {
            return Some(Err(Failure::protocol("too many redirects")));
        }
        if let Some(refused) = self.refuses(request, &url) {
            return Some(Err(refused));
        }
        if self.options.sends_referer && !(followed == 0 && has_referer(request)) {
            set_referer(&mut following, request, &url);
        }
        following.origin = self.origin(&url);
        if let CookieUse::Both(..) = cookie_use {
            following.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
        }
        let original_cookie = self.add_cookies(&mut following, cookie_use);
        Some(Ok(NextHop { request: following, original_cookie }))
    }

    /// Load goes only to hosts that the test names.
    fn refuses(&self, request: &Request, to: &Url) -> Option<Failure> {
        let Origin { host, port, .. } = Origin::of(to);
        if host.eq_ignore_ascii_case(&request.origin.host) || self.options.redirect_hosts.permits(&host, port) {
            return None;
        }
        Some(Failure::protocol(format!(
            "the response redirects to {host}, which the test does not name; to follow it, set the option `redirects: {{ hosts: [\"{host}\"] }}`, or add \
             `--allow-net {host}`"
        )))
    }

    /// Forgets all cookies.
    pub fn clear_cookies(&self) {
        self.jar.clear();
    }

    /// Value of a cookie that a request to `url` would carry.
    pub fn cookie(&self, url: &Url, name: &str) -> Option<String> {
        self.jar.get(url, name)
    }

    /// The session's cookies.
    pub fn jar(&self) -> Rc<CookieJar> {
        Rc::clone(&self.jar)
    }

    /// Sets a cookie for all paths of `url`'s host.
    ///
    /// # Errors
    /// The cookie cannot be sent, or exceeds a limit.
    pub fn set_cookie(&self, url: &Url, name: &str, value: &str) -> Result<(), CookieError> {
        self.jar.set(url, name, value)
    }

    /// Returns one shared value per origin, so that looking up its connections compares pointers.
    fn origin(&self, url: &Url) -> Rc<Origin> {
        let mut origins = self.origins.borrow_mut();
        if let Some(origin) = origins.iter().find(|origin| origin.serves(url)) {
            return Rc::clone(origin);
        }
        if origins.len() >= ORIGINS_MAX {
            origins.remove(0);
        }
        let origin = Rc::new(Origin::of(url));
        origins.push(Rc::clone(&origin));
        origin
    }

    /// Adds the session's header lines and cookies, and returns the cookies that the request had before.
    pub(crate) fn complete(&self, request: &mut Request, cookie_use: CookieUse<'_>) -> Option<String> {
        self.add_headers(request);
        self.add_cookies(request, cookie_use)
    }

    fn add_headers(&self, request: &mut Request) {
        for (name, value) in &self.options.headers {
            if !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                request.headers.push((name.clone(), value.clone()));
            }
        }
    }

    /// Adds the jar's cookies and returns the previous value.
    fn add_cookies(&self, request: &mut Request, cookie_use: CookieUse<'_>) -> Option<String> {
        let position = own_cookie(request);
        let original = position.map(|position| request.headers[position].1.clone());
        let added = match cookie_use {
            CookieUse::Nothing => None,
            CookieUse::Jar(jar) if jar.is_empty() => None,
            CookieUse::Both(jar, []) if jar.is_empty() => None,
            CookieUse::Jar(jar) => request.url().and_then(|url| jar.value_for(&url, original.as_deref())),
            CookieUse::Both(jar, cookies) => request.url().and_then(|url| jar.value_with(&url, original.as_deref(), cookies)),
        };
        if let Some(value) = added {
            match position {
                Some(position) => request.headers[position].1 = value,
                None => request.headers.push(("Cookie".to_owned(), value)),
            }
        }
        original
    }

    pub(crate) fn take_cookies(&self, jar: &CookieJar, request: &Request, response: &Response) {
        if self.options.cookies
            && response.headers.sets_cookies()
            && let Some(url) = request.url()
        {
            jar.take_from(&response.headers, &url);
        }
    }
}

/// The position of the caller's `Cookie` line.
fn own_cookie(request: &Request) -> Option<usize> {
    request.headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("cookie"))
}

fn has_referer(request: &Request) -> bool {
    request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("referer"))
}

/// A page behind TLS is not named to one without.
fn set_referer(following: &mut Request, before: &Request, to: &Url) {
    following.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("referer"));
    if let Some(from) = before.url().filter(|from| !(from.scheme() == "https" && to.scheme() == "http")) {
        following.headers.push(("Referer".to_owned(), from.into()));
    }
}
