//! Builds a request from a call of the script and sends it.

use std::rc::Rc;

use metrics::{Nanos, Outcome, Phases, Sample, SeriesId, SeriesKind};
use protocol::http::{BodyUse, Hop, Hops, Origin, Request, add_query, path_of, resolve};
use rquickjs::{Ctx, Exception, Persistent, Promise, Value};
use url::Url;

use super::expect::Expect;
use super::name;
use super::options::Options;
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::group::Group;
use crate::crew::op::{Done, Then};
use crate::crew::scenario::set_header;

/// What is known of a request under way, for the record when it ends.
pub(crate) struct Issued {
    pub(super) series: SeriesId,
    /// When it was due, if that is not its start.
    pub(super) due: Option<Nanos>,
    /// The iteration it belongs to.
    pub(super) epoch: u32,
    pub(super) group: Option<Rc<Group>>,
    pub(super) expect: Option<Box<Expect>>,
}

/// Sends a request; the promise resolves with the response whatever becomes of it.
pub(super) fn send<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserCell>,
    realm: &Rc<RealmHandle>,
    group: Option<Rc<Group>>,
    method: Rc<str>,
    url: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    if user.sequence().is_none() {
        return Err(Exception::throw_message(ctx, "the iteration has ended: await every request inside the scenario's function"));
    }
    let options = match given.filter(|value| !value.is_undefined()) {
        None => Options::default(),
        Some(value) => {
            let object = value.as_object().ok_or_else(|| Exception::throw_type(ctx, "a request's options are an object"))?;
            Options::read(ctx, user, object)?
        }
    };
    let written = url_text(ctx, url)?;
    let (request, redirects) = build(ctx, user, method, &written, &options)?;
    let group_name = group.as_ref().map_or_else(|| user.desk.no_group.clone(), |group| group.name.clone());
    let series = match &options.name {
        Some(name) => user.card.series(&user.desk.recorder, SeriesKind::Request, &group_name, name),
        None => user.card.series(&user.desk.recorder, SeriesKind::Request, &group_name, &name::of_request(&request.method, &request.path)),
    };
    let due = user.take_due();
    let (promise, resolve, reject) = ctx.promise()?;
    let flight = Flight { user: Rc::clone(user), series, due, began: 0, landed: false };
    let issued = Issued { series, due, epoch: user.epoch(), group, expect: options.expect };
    let then = Then::Answer { resolve: Persistent::save(ctx, resolve), reject: Persistent::save(ctx, reject), issued: Box::new(issued) };
    let work = Box::pin(perform(flight, request, redirects, options.without_cookies));
    let slot = user.desk.submit(work, then, Some(user), realm);
    user.track(&slot);
    Ok(promise)
}

async fn perform(mut flight: Flight, request: Request, redirects: u8, without_cookies: bool) -> Done {
    flight.take_off();
    let user = Rc::clone(&flight.user);
    let hops = if without_cookies {
        let exchange = user.session.client().send(&request).await;
        Hops { last: Hop { request, exchange }, before: Vec::new() }
    } else {
        user.session.send(request, redirects).await
    };
    flight.land(hops.last.exchange.ended);
    Done::Answer(Box::new(hops))
}

/// A request between its start and its end. Dropped before the end, it records the interruption.
struct Flight {
    user: Rc<UserCell>,
    series: SeriesId,
    due: Option<Nanos>,
    began: Nanos,
    landed: bool,
}

impl Flight {
    fn take_off(&mut self) {
        self.began = self.user.desk.clock.now();
        self.user.desk.recorder.borrow_mut().request_began(self.began);
    }

    fn land(&mut self, at: Nanos) {
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
        };
        let mut recorder = self.user.desk.recorder.borrow_mut();
        recorder.request_ended(now);
        recorder.record(self.series, &sample);
    }
}

fn url_text<'js>(ctx: &Ctx<'js>, url: &Value<'js>) -> rquickjs::Result<String> {
    if let Some(text) = url.as_string() {
        return text.to_string();
    }
    // A `URL` object is as good as its text.
    match url.as_object().and_then(|object| object.get::<_, String>("href").ok()) {
        Some(href) => Ok(href),
        None => Err(Exception::throw_type(ctx, "the URL of a request is a text such as \"/products\"")),
    }
}

fn build(ctx: &Ctx<'_>, user: &UserCell, method: Rc<str>, written: &str, options: &Options) -> rquickjs::Result<(Request, u8)> {
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
