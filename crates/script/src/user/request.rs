//! Builds a request from a call of the script and sends it.

use std::rc::Rc;

use metrics::{Nanos, Outcome, Phases, Sample, SeriesId, SeriesKind};
use protocol::http::{BodyUse, Hop, Hops, Origin, Request, add_query, path_of, resolve};
use rquickjs::{Ctx, Exception, Persistent, Promise, Value};
use url::Url;

use super::class::Method;
use super::expect::Expect;
use super::name;
use super::options::Options;
use super::prepared::{Look, Prepared};
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::group::Group;
use crate::crew::op::{Done, Then, Work};
use crate::crew::scenario::set_header;

/// What an answer is judged by.
pub(super) enum Expected {
    /// One status; 0: any below 400.
    Status(u16),
    Full(Box<Expect>),
}

/// What is known of a request under way, for the record when it ends.
pub(crate) struct Issued {
    pub(super) series: SeriesId,
    /// When it was due, if that is not its start.
    pub(super) due: Option<Nanos>,
    /// The iteration it belongs to.
    pub(super) epoch: u32,
    pub(super) group: Option<Rc<Group>>,
    pub(super) expected: Expected,
    /// The request, where it was sent as prepared.
    pub(super) prepared: Option<Rc<Prepared>>,
}

/// The method of a call: one with a function of its own, or any other.
pub(super) enum Verb {
    Known(Method),
    Other(Rc<str>),
}

/// Sends a request; the promise resolves with the response whatever becomes of it.
pub(super) fn send<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    group: Option<Rc<Group>>,
    verb: Verb,
    url: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    if !user.is_playing() {
        return Err(Exception::throw_message(ctx, "the iteration has ended: await every request inside the scenario's function"));
    }
    let given = given.filter(|value| !value.is_undefined());
    let look = match &verb {
        Verb::Known(method) => realm.prepared.look(ctx, realm.realm.constants(), user, *method, url, given)?,
        Verb::Other(_) => Look::Unknown,
    };
    if let Look::Found(prepared) = look {
        return send_prepared(ctx, user, realm, group, prepared);
    }
    let method = match verb {
        Verb::Known(method) => Rc::clone(&user.desk.methods[method as usize]),
        Verb::Other(method) => method,
    };
    let options = match given {
        None => Options::default(),
        Some(value) => {
            let object = value.as_object().ok_or_else(|| Exception::throw_type(ctx, "a request's options are an object"))?;
            Options::read(ctx, user, object)?
        }
    };
    let written = url_text(ctx, url)?;
    let (request, redirects) = build(ctx, user, method, &written, &options)?;
    if let Look::Again(key, status) = look {
        let prepared = Rc::new(prepare(ctx, user, request, redirects, options, status)?);
        realm.prepared.keep(key, &prepared);
        return send_prepared(ctx, user, realm, group, prepared);
    }
    let group_name = group.as_ref().map_or_else(|| user.desk.no_group.clone(), |group| group.name.clone());
    let series = match &options.name {
        Some(name) => user.card.series(&user.desk.recorder, SeriesKind::Request, &group_name, name),
        None => user.card.series(&user.desk.recorder, SeriesKind::Request, &group_name, &name::of_request(&request.method, &request.path)),
    };
    let expected = options.expect.map_or(Expected::Status(0), Expected::Full);
    let without_cookies = options.without_cookies;
    submit(ctx, user, realm, Issued { series, due: user.take_due(), epoch: user.epoch(), group, expected, prepared: None }, |flight| {
        Box::pin(perform(flight, request, redirects, without_cookies))
    })
}

fn send_prepared<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    group: Option<Rc<Group>>,
    prepared: Rc<Prepared>,
) -> rquickjs::Result<Promise<'js>> {
    let series = match &group {
        None => prepared.series,
        Some(group) => user.card.series(&user.desk.recorder, SeriesKind::Request, &group.name, &prepared.name),
    };
    let expected = Expected::Status(prepared.status);
    let sent = Rc::clone(&prepared);
    let issued = Issued { series, due: user.take_due(), epoch: user.epoch(), group, expected, prepared: Some(prepared) };
    submit(ctx, user, realm, issued, |flight| Box::pin(perform_prepared(flight, sent)))
}

fn prepare(ctx: &Ctx<'_>, user: &UserCell, request: Request, redirects: u8, options: Options, status: u16) -> rquickjs::Result<Prepared> {
    let name = options.name.unwrap_or_else(|| name::of_request(&request.method, &request.path));
    let series = user.card.series(&user.desk.recorder, SeriesKind::Request, &user.desk.no_group, &name);
    let wire = user.session.prepare(request).map_err(|failure| Exception::throw_message(ctx, &failure.message))?;
    Ok(Prepared { wire, redirects, series, name, status })
}

/// Hands a request to the driver and returns the promise of its answer.
fn submit<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    issued: Issued,
    work: impl FnOnce(Flight) -> Work,
) -> rquickjs::Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    let flight = Flight::new(Rc::clone(user), issued.series, issued.due);
    let then = Then::Answer { resolve: Persistent::save(ctx, resolve), reject: Persistent::save(ctx, reject), issued };
    let slot = user.desk.submit(work(flight), then, Some(user), realm);
    user.track(&slot);
    Ok(promise)
}

async fn perform_prepared(mut flight: Flight, prepared: Rc<Prepared>) -> Done {
    if flight.limited() {
        Box::pin(flight.wait_for_connection(&prepared.wire.request().origin)).await;
    }
    flight.take_off();
    let session = &flight.user.session;
    let hops = if session.has_cookies() {
        Box::pin(session.send(prepared.wire.request().clone(), prepared.redirects)).await
    } else {
        let exchange = session.client().send_prepared_at(&prepared.wire, flight.began).await;
        if session.is_last(&exchange, prepared.redirects) {
            flight.land(exchange.ended);
            return Done::Plain(Box::new(exchange));
        }
        Box::pin(session.follow_prepared(&prepared.wire, exchange, prepared.redirects)).await
    };
    flight.land(hops.last.exchange.ended);
    Done::Hops(Box::new(hops))
}

async fn perform(mut flight: Flight, request: Request, redirects: u8, without_cookies: bool) -> Done {
    if flight.limited() {
        Box::pin(flight.wait_for_connection(&request.origin)).await;
    }
    flight.take_off();
    let user = Rc::clone(&flight.user);
    let hops = if without_cookies {
        let exchange = user.session.client().send(&request).await;
        Hops { last: Hop { request, exchange }, before: Vec::new() }
    } else {
        user.session.send(request, redirects).await
    };
    flight.land(hops.last.exchange.ended);
    Done::Hops(Box::new(hops))
}

/// A request between its start and its end. Dropped before the end, it records the interruption.
pub(super) struct Flight {
    user: Rc<UserCell>,
    series: SeriesId,
    due: Option<Nanos>,
    began: Nanos,
    landed: bool,
}

impl Flight {
    pub(super) fn new(user: Rc<UserCell>, series: SeriesId, due: Option<Nanos>) -> Self {
        Self { user, series, due, began: 0, landed: false }
    }

    /// The rate of new connections is limited: a request that needs one begins when it may have it.
    fn limited(&self) -> bool {
        self.user.desk.network.limits_connections()
    }

    async fn wait_for_connection(&self, origin: &Rc<Origin>) {
        self.user.session.client().admit(origin).await;
    }

    pub(super) fn take_off(&mut self) {
        self.began = self.user.desk.clock.now();
        self.user.desk.recorder.borrow_mut().request_began(self.began);
    }

    pub(super) fn land(&mut self, at: Nanos) {
        self.landed = true;
        self.user.desk.recorder.borrow_mut().request_ended(at);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.landed || self.began == 0 {
            return;
        }
        let now = self.user.desk.clock.now();
        let sample = Sample {
            scheduled: self.due.unwrap_or(self.began),
            started: self.began,
            ended: now,
            phases: Phases::default(),
            outcome: Outcome::Interrupted,
            status: 0,
            bytes_sent: 0,
            bytes_received: 0,
            trace: None,
        };
        let mut recorder = self.user.desk.recorder.borrow_mut();
        recorder.request_ended(now);
        recorder.record(self.series, &sample);
    }
}

pub(super) fn url_text<'js>(ctx: &Ctx<'js>, url: &Value<'js>) -> rquickjs::Result<String> {
    if let Some(text) = url.as_string() {
        return text.to_string();
    }
    // A `URL` object is as good as its text.
    match url.as_object().and_then(|object| object.get::<_, String>("href").ok()) {
        Some(href) => Ok(href),
        None => Err(Exception::throw_type(ctx, "the URL of a request is a text such as \"/products\"")),
    }
}

pub(super) fn build(ctx: &Ctx<'_>, user: &UserCell, method: Rc<str>, written: &str, options: &Options) -> rquickjs::Result<(Request, u8)> {
    let card = &user.card;
    let (origin, path) = address(ctx, user, written, &options.query)?;
    let mut headers = card.headers.clone();
    let at_base = card.base.as_ref().is_some_and(|base| base.origin == origin);
    let authorization = match &options.authorization {
        Some(own) => own.as_deref(),
        None => card.authorization.as_deref().filter(|_| at_base),
    };
    if let Some(value) = authorization {
        set_header(&mut headers, "Authorization", value);
    }
    if let Some(content_type) = &options.content_type {
        set_header(&mut headers, "Content-Type", content_type);
    }
    for (name, value) in &options.headers {
        set_header(&mut headers, name, value);
    }
    let request = Request {
        origin,
        method,
        path,
        headers,
        body: options.body.clone(),
        timeout_ns: options.timeout_ns.unwrap_or(card.timeout_ns),
        body_use: options.body_use.unwrap_or(BodyUse::Keep),
        body_bytes_max: card.body_bytes_max,
    };
    Ok((request, options.redirects.unwrap_or(card.redirects).min(255) as u8))
}

/// Where a request goes: origin, and path with query.
fn address(ctx: &Ctx<'_>, user: &UserCell, written: &str, query: &[(String, String)]) -> rquickjs::Result<(Rc<Origin>, String)> {
    if let Some(base) = &user.card.base
        && query.is_empty()
        && is_plain_path(written)
    {
        return Ok((Rc::clone(&base.origin), written.to_owned()));
    }
    let base = user.card.base.as_ref().map(|base| &base.url);
    let mut url: Url = resolve(base, written).map_err(|error| Exception::throw_message(ctx, &error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Exception::throw_message(ctx, &format!("`{written}`: requests go to http:// or https://")));
    }
    add_query(&mut url, query.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let origin = Origin::of(&url);
    let origin = match &user.card.base {
        Some(base) if *base.origin == origin => Rc::clone(&base.origin),
        _ => Rc::new(origin),
    };
    Ok((origin, path_of(&url)))
}

/// An absolute path that the URL standard would leave as it is.
fn is_plain_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~' | b'%' | b'?' | b'=' | b'&' | b'+' | b',' | b':' | b'@')
    };
    bytes.first() == Some(&b'/') && bytes.get(1) != Some(&b'/') && bytes.iter().all(plain) && !text.contains("/.") && !text.contains("%2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_taken_as_they_are_are_those_the_standard_leaves_alone() {
        let base = Url::parse("http://h").unwrap();
        for path in [
            "/",
            "/a/b-c_d~e?x=1&y=a,b:c@d+e",
            "/%C3%BC",
            "/a/b",
            "/a b",
            "/ü",
            "//h/x",
            "/a/../b",
            "/a/./b",
            "/a#b",
            "/a%2e",
            "/<x>",
            "a",
            "",
        ] {
            if is_plain_path(path) {
                assert_eq!(path_of(&resolve(Some(&base), path).unwrap()), path);
            }
        }
        assert!(is_plain_path("/v1/tickets/7?full=1") && !is_plain_path("/a b") && !is_plain_path("//x"));
    }
}
