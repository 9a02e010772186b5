//! What a browser adds to a client: cookies, redirects, header lines that go with every request.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use url::Url;

use super::address::{self, basic_authorization, path_of};
use super::cookies::Jar;
use super::message::{BodyUse, Exchange, Origin, Request, Response};
use super::{Client, Failure, PreparedRequest};
use crate::sse::{self, EventStream};
use crate::ws::{self, Opening, SocketOptions};

/// Origins a session remembers so that their requests share one name.
const ORIGINS_MAX: usize = 32;

/// What goes with every request of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Keep the cookies that servers set.
    pub cookies: bool,
    /// Header lines that are added where the request has none of that name.
    pub headers: Vec<(String, String)>,
    /// From start to last byte, of each hop. Nanoseconds.
    pub timeout_ns: u64,
    pub body_use: BodyUse,
    pub body_bytes_max: u64,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            cookies: true,
            headers: vec![("User-Agent".to_owned(), concat!("loadstone/", env!("CARGO_PKG_VERSION")).to_owned())],
            timeout_ns: 30_000_000_000,
            body_use: BodyUse::Keep,
            body_bytes_max: 64 << 20,
        }
    }
}

/// One virtual user's client with cookies and redirects. Several requests may be under way at once.
#[derive(Debug)]
pub struct Session {
    client: Client,
    options: SessionOptions,
    jar: Jar,
    origins: RefCell<Vec<Rc<Origin>>>,
}

/// One request of a chain of redirects, as sent, and what became of it.
#[derive(Debug, Clone)]
pub struct Hop {
    pub request: Request,
    pub exchange: Exchange,
}

impl Hop {
    /// The URL that was asked.
    pub fn url(&self) -> Option<Url> {
        self.request.url()
    }
}

/// A request and the redirects that followed it.
#[derive(Debug, Clone)]
pub struct Hops {
    /// The hop whose answer counts.
    pub last: Hop,
    /// The redirects before it, in order.
    pub before: Vec<Hop>,
}

impl Hops {
    /// All hops in the order they were made.
    pub fn iter(&self) -> impl Iterator<Item = &Hop> {
        self.before.iter().chain([&self.last])
    }
}

impl Session {
    pub fn new(client: Client, options: SessionOptions) -> Self {
        Self { client, options, jar: Jar::default(), origins: RefCell::default() }
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
            body: Bytes::new(),
            timeout_ns: self.options.timeout_ns,
            body_use: self.options.body_use,
            body_bytes_max: self.options.body_bytes_max,
        }
    }

    /// Sends a request and follows up to `redirects_max` redirects; 0 returns the first answer whatever it is.
    ///
    /// Redirects that go on beyond the limit, or lead to what is no http URL, are a failure of the last hop.
    pub async fn send(&self, mut request: Request, redirects_max: u8) -> Hops {
        self.add_headers(&mut request);
        let given_cookie = self.add_cookies(&mut request);
        let exchange = self.client.send(&request).await;
        if self.is_last(&exchange, redirects_max) {
            return Hops { last: Hop { request, exchange }, before: Vec::new() };
        }
        Box::pin(self.follow(request, given_cookie, exchange, redirects_max)).await
    }

    /// A request with the session's header lines, ready for [`Client::send_prepared`]: as cheap as it gets while no cookie and no redirect is
    /// in play.
    ///
    /// # Errors
    /// Where the request could not be sent either (a line break in a header).
    pub fn prepare(&self, mut request: Request) -> Result<PreparedRequest, Failure> {
        self.add_headers(&mut request);
        PreparedRequest::new(&request)
    }

    /// Some cookie may have to go with a request: [`Session::send`] sees to it, the client alone does not.
    pub fn has_cookies(&self) -> bool {
        !self.jar.is_empty()
    }

    /// An answer is the last: it sets no cookies and is not redirected. After one that is not, to a prepared request,
    /// [`Session::follow_prepared`] goes on.
    pub fn is_last(&self, exchange: &Exchange, redirects_max: u8) -> bool {
        match &exchange.result {
            Ok(response) => !response.headers.sets_cookies() && (redirects_max == 0 || !is_redirect(response.status)),
            Err(_) => true,
        }
    }

    /// Goes on from the client's answer to a prepared request, as [`Session::send`] does from a first answer.
    pub async fn follow_prepared(&self, prepared: &PreparedRequest, first: Exchange, redirects_max: u8) -> Hops {
        self.follow(prepared.request().clone(), None, first, redirects_max).await
    }

    /// Goes on from a first answer: keeps its cookies, and follows where it redirects.
    async fn follow(&self, mut request: Request, mut given_cookie: Option<String>, mut exchange: Exchange, redirects_max: u8) -> Hops {
        let mut before = Vec::new();
        loop {
            match self.next(&request, given_cookie, &exchange, before.len(), redirects_max) {
                None => return Hops { last: Hop { request, exchange }, before },
                Some(Err(failure)) => {
                    exchange.result = Err(failure);
                    return Hops { last: Hop { request, exchange }, before };
                }
                Some(Ok((following, cookie))) => {
                    before.push(Hop { request, exchange });
                    (request, given_cookie) = (following, cookie);
                    exchange = self.client.send(&request).await;
                }
            }
        }
    }

    /// Keeps an answer's cookies. Gives the request that it redirects to, with the session's cookies, and the cookie that had been given with
    /// it. `None`: the answer is the last. `Err`: it redirects once too often, or to what is no http URL.
    fn next(
        &self,
        request: &Request,
        given_cookie: Option<String>,
        exchange: &Exchange,
        followed: usize,
        redirects_max: u8,
    ) -> Option<Result<(Request, Option<String>), Failure>> {
        let response = exchange.result.as_ref().ok()?;
        self.take_cookies(request, response);
        if redirects_max == 0 {
            return None;
        }
        let (mut following, url) = match redirected(request, response, given_cookie)? {
            Ok(following) => following,
            Err(failure) => return Some(Err(failure)),
        };
        if followed >= usize::from(redirects_max) {
            return Some(Err(Failure::protocol("the redirects do not end")));
        }
        following.origin = self.origin(&url);
        let given_cookie = self.add_cookies(&mut following);
        Some(Ok((following, given_cookie)))
    }

    /// Opens a WebSocket with the session's header lines and cookies.
    pub async fn open_socket(&self, mut request: Request, options: &SocketOptions) -> Opening {
        self.add_headers(&mut request);
        self.add_cookies(&mut request);
        let opening = ws::open(self.client.network(), request.clone(), options).await;
        if let Ok(response) = &opening.exchange.result {
            self.take_cookies(&request, response);
        }
        opening
    }

    /// Asks for events with the session's header lines and cookies, from behind the event of this id on. Empty: from now on. Redirects are
    /// followed as by [`Session::send`].
    pub async fn open_events(&self, mut request: Request, last_id: &str, redirects_max: u8) -> (Hops, Option<EventStream>) {
        self.add_headers(&mut request);
        let mut given_cookie = self.add_cookies(&mut request);
        if !last_id.is_empty() {
            request.headers.push(("Last-Event-ID".to_owned(), last_id.to_owned()));
        }
        let mut before = Vec::new();
        loop {
            let sse::Opening { mut exchange, stream } = sse::open(self.client.network(), request.clone()).await;
            match self.next(&request, given_cookie, &exchange, before.len(), redirects_max) {
                None => return (Hops { last: Hop { request, exchange }, before }, stream),
                Some(Err(failure)) => {
                    exchange.result = Err(failure);
                    return (Hops { last: Hop { request, exchange }, before }, None);
                }
                Some(Ok((following, cookie))) => {
                    before.push(Hop { request, exchange });
                    (request, given_cookie) = (following, cookie);
                }
            }
        }
    }

    /// Forgets all cookies.
    pub fn clear_cookies(&self) {
        self.jar.clear();
    }

    /// Value of a cookie that a request to `url` would carry.
    pub fn cookie(&self, url: &Url, name: &str) -> Option<String> {
        self.jar.get(url, name)
    }

    /// Sets a cookie for all paths of `url`'s host.
    pub fn set_cookie(&self, url: &Url, name: &str, value: &str) {
        self.jar.set(url, name, value);
    }

    /// One shared value per origin, so that finding its connections compares a pointer.
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

    fn add_headers(&self, request: &mut Request) {
        for (name, value) in &self.options.headers {
            if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                request.headers.push((name.clone(), value.clone()));
            }
        }
    }

    /// Adds the jar's cookies and returns the value that was there before.
    fn add_cookies(&self, request: &mut Request) -> Option<String> {
        let place = request.headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let given = place.map(|place| request.headers[place].1.clone());
        if self.jar.is_empty() {
            return given;
        }
        if let Some(value) = request.url().and_then(|url| self.jar.value_for(&url, given.as_deref())) {
            match place {
                Some(place) => request.headers[place].1 = value,
                None => request.headers.push(("Cookie".to_owned(), value)),
            }
        }
        given
    }

    fn take_cookies(&self, request: &Request, response: &Response) {
        if self.options.cookies
            && response.headers.sets_cookies()
            && let Some(url) = request.url()
        {
            self.jar.take_from(&response.headers, &url);
        }
    }
}

impl Request {
    /// The URL that is asked.
    pub fn url(&self) -> Option<Url> {
        let scheme = if self.origin.tls { "https" } else { "http" };
        Url::parse(&format!("{scheme}://{}{}", self.origin.authority(), self.path)).ok()
    }
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request that an answer redirects to, by the fetch standard (HTTP-redirect fetch). `None`: it is no redirect.
fn redirected(request: &Request, response: &Response, given_cookie: Option<String>) -> Option<Result<(Request, Url), Failure>> {
    if !is_redirect(response.status) {
        return None;
    }
    let location = response.headers.get("location")?;
    let base = request.url();
    let url = match address::resolve(base.as_ref(), location) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        _ => return Some(Err(Failure::protocol("the answer redirects to what is not an http URL"))),
    };
    let mut next = Request { path: path_of(&url), ..request.clone() };
    next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("cookie"));
    let becomes_get = match response.status {
        301 | 302 => &*request.method == "POST",
        303 => !matches!(&*request.method, "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        next.method = "GET".into();
        next.body = Bytes::new();
        next.headers.retain(|(name, _)| !is_about_body(name));
    }
    if request.origin.serves(&url) {
        next.headers.extend(given_cookie.map(|value| ("Cookie".to_owned(), value)));
    } else {
        next.headers.retain(|(name, _)| !is_for_one_origin(name));
    }
    if let Some(value) = basic_authorization(&url) {
        next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        next.headers.push(("Authorization".to_owned(), value));
    }
    Some(Ok((next, url)))
}

/// "Request-body-header name" of the fetch standard, and the length.
fn is_about_body(name: &str) -> bool {
    ["content-encoding", "content-language", "content-location", "content-type", "content-length"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other))
}

fn is_for_one_origin(name: &str) -> bool {
    ["authorization", "proxy-authorization", "host"].iter().any(|other| name.eq_ignore_ascii_case(other))
}
