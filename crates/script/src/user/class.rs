//! The user object: what a scenario's function is given.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use metrics::{Nanos, Outcome, SeriesKind};
use rquickjs::class::Trace;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Class, Ctx, Exception, Function, JsLifetime, Object, Persistent, Promise, Value};
use stub::Delay;
use url::Url;

use super::request::{self, Verb};
use super::socket;
use crate::crew::cell::UserCell;
use crate::crew::desk::RealmHandle;
use crate::crew::group::{Group, GroupEnd};
use crate::crew::op::{Done, Then};
use crate::crew::sinks::{ConsoleLine, Level};

/// A user, or the same user inside a group.
#[rquickjs::class]
pub(crate) struct User {
    cell: Rc<UserCell>,
    /// The group whose function was given this object; `None`: whichever group is open.
    group: Option<Rc<Group>>,
    /// Weak: the realm owns this object.
    realm: Weak<RealmHandle>,
}

impl<'js> Trace<'js> for User {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for User {
    type Changed<'to> = User;
}

impl User {
    pub(super) fn new(cell: Rc<UserCell>, realm: Weak<RealmHandle>) -> Self {
        Self { cell, group: None, realm }
    }

    /// When its iteration was due.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.cell.scheduled()
    }

    fn group(&self) -> Option<Rc<Group>> {
        self.group.clone().or_else(|| self.cell.group())
    }

    fn realm(&self, ctx: &Ctx<'_>) -> rquickjs::Result<Rc<RealmHandle>> {
        self.realm.upgrade().ok_or_else(|| Exception::throw_message(ctx, "the run has ended"))
    }

    /// Sends a request; `options` may be undefined.
    pub(super) fn send<'js>(
        &self,
        ctx: &Ctx<'js>,
        verb: Verb,
        url: &Value<'js>,
        options: Option<&Value<'js>>,
    ) -> rquickjs::Result<Promise<'js>> {
        request::send(ctx, &self.cell, &self.realm(ctx)?, self.group(), verb, url, options)
    }

    /// The promise resolves with `value`.
    fn wait_until<'js>(&self, ctx: &Ctx<'js>, due: Nanos, value: Option<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        if !self.cell.is_playing() {
            return Err(Exception::throw_message(ctx, "the iteration has ended: await every step inside the scenario's function"));
        }
        let (promise, resolve, _) = ctx.promise()?;
        let group = self.group();
        let desk = Rc::clone(&self.cell.desk);
        Group::pause_began(group.as_ref(), desk.clock.now());
        let timer = desk.clock.sleep_until(due);
        let work = Box::pin(async move {
            timer.await;
            Group::pause_ended(group.as_ref(), desk.clock.now());
            Done::Waited
        });
        let value = value.map(|value| Persistent::save(ctx, value));
        let then = Then::Resolve { resolve: Persistent::save(ctx, resolve), value };
        let slot = self.cell.desk.submit(work, then, Some(&self.cell), &self.realm(ctx)?);
        self.cell.track(&slot);
        Ok(promise)
    }
}

/// Methods with a function of their own (see `verbs`), as indexes into the desk's shared texts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    Get,
    Head,
    Options,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub(crate) const TEXTS: [&'static str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    pub(super) const ALL: [Self; 7] = [Self::Get, Self::Head, Self::Options, Self::Post, Self::Put, Self::Patch, Self::Delete];
}

#[rquickjs::methods(rename_all = "camelCase")]
impl User {
    #[qjs(get)]
    fn number(&self) -> f64 {
        self.cell.number as f64
    }

    #[qjs(get)]
    fn iteration(&self) -> f64 {
        self.cell.sequence().unwrap_or(0) as f64
    }

    #[qjs(get)]
    fn scenario(&self) -> String {
        self.cell.card.name.to_string()
    }

    #[qjs(get)]
    fn random<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        self.cell.random.object(&ctx).map(Class::into_inner)
    }

    #[qjs(get)]
    fn cookies<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Class<'js, Cookies>> {
        Class::instance(ctx, Cookies { cell: Rc::clone(&self.cell) })
    }

    fn request<'js>(&self, ctx: Ctx<'js>, method: String, url: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        // RFC 9110, section 5.6.2: a method is a token.
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if method.is_empty() || !method.bytes().all(token) {
            return Err(Exception::throw_type(&ctx, &format!("\"{method}\" is not a method")));
        }
        self.send(&ctx, Verb::Other(method.to_ascii_uppercase().into()), &url, options.0.as_ref())
    }

    fn ws<'js>(&self, ctx: Ctx<'js>, url: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        socket::open(&ctx, &self.cell, &self.realm(&ctx)?, self.group(), &url, options.0.as_ref())
    }

    fn events<'js>(&self, ctx: Ctx<'js>, url: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        socket::listen(&ctx, &self.cell, &self.realm(&ctx)?, self.group(), &url, options.0.as_ref())
    }

    fn pause<'js>(&self, ctx: Ctx<'js>, delay: Value<'js>) -> rquickjs::Result<Promise<'js>> {
        let written = delay.as_string().map(|text| text.to_string()).transpose()?;
        let written =
            written.ok_or_else(|| Exception::throw_type(&ctx, "pause(…): write a delay such as \"1s\" or \"uniform(1s, 3s)\""))?;
        let delay: Delay = written.parse().map_err(|error: stub::DelayError| Exception::throw_range(&ctx, &error.to_string()))?;
        let ns = delay.sample_ns(|| self.cell.random.draws().bits());
        // A declared pause is no lateness: a first request behind it is due that much later.
        self.cell.postpone(ns);
        self.wait_until(&ctx, self.cell.desk.clock.now().saturating_add(ns), None)
    }

    fn check<'js>(&self, ctx: Ctx<'js>, name: Value<'js>, holds: Value<'js>) -> rquickjs::Result<bool> {
        let text = || name.as_string().ok_or_else(|| Exception::throw_type(&ctx, "check(name, …): the name is a text"))?.to_string();
        let Some(passed) = holds.as_bool() else {
            return Err(Exception::throw_type(&ctx, &format!("check \"{}\": the second argument is true or false", text()?)));
        };
        let desk = &self.cell.desk;
        let of = |group: &Arc<str>| Ok(self.cell.card.series(&desk.recorder, SeriesKind::Check, group, &text()?));
        let series = match self.group() {
            Some(group) => of(&group.name)?,
            None if name.is_string() => self.realm(&ctx)?.checks.series(&ctx, &self.cell, &name, || of(&desk.no_group))?,
            None => of(&desk.no_group)?,
        };
        let mut recorder = desk.recorder.borrow_mut();
        recorder.check(series, passed);
        if !passed {
            recorder.error(series, Outcome::Expect, desk.clock.now(), "the check failed");
        }
        Ok(passed)
    }

    fn log<'js>(&self, ctx: Ctx<'js>, values: Rest<Value<'js>>) -> rquickjs::Result<()> {
        let Some(console) = &self.cell.desk.sinks.console else { return Ok(()) };
        let native: Object<'js> = ctx.globals().get("__loadstone")?;
        let format: Function<'js> = native.get("format")?;
        let text: String = format.call((values,))?;
        console(&ConsoleLine { level: Level::Info, text, user: Some((Rc::clone(&self.cell.card.name), self.cell.number)) });
        Ok(())
    }

    /// Opens a group and returns the user inside it; for `group`, which is TypeScript.
    fn enter_group<'js>(&self, ctx: Ctx<'js>, name: String) -> rquickjs::Result<Class<'js, User>> {
        let group = self.cell.enter_group(&name, self.group());
        Class::instance(ctx, User { cell: Rc::clone(&self.cell), group: Some(group), realm: self.realm.clone() })
    }

    fn leave_group(&self, returned: bool) {
        if let Some(group) = &self.group {
            self.cell.leave_group(group, if returned { GroupEnd::Returned } else { GroupEnd::Threw });
        }
    }

    /// The run's clock, for `pace`. Nanoseconds.
    fn clock(&self) -> f64 {
        self.cell.desk.clock.now() as f64
    }

    /// When this user's load ends. Nanoseconds.
    fn load_end(&self) -> f64 {
        match self.cell.load_end() {
            Nanos::MAX => f64::INFINITY,
            at => at as f64,
        }
    }

    fn sleep_until<'js>(&self, ctx: Ctx<'js>, at: f64, value: Value<'js>) -> rquickjs::Result<Promise<'js>> {
        self.wait_until(&ctx, at.max(0.0) as Nanos, Some(value))
    }
}

/// `user.cookies`.
#[rquickjs::class]
pub(crate) struct Cookies {
    cell: Rc<UserCell>,
}

impl<'js> Trace<'js> for Cookies {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Cookies {
    type Changed<'to> = Cookies;
}

impl Cookies {
    fn site(&self, ctx: &Ctx<'_>, url: Opt<Option<String>>) -> rquickjs::Result<Url> {
        let base = self.cell.card.base.as_ref().map(|base| &base.url);
        let written = url.0.flatten().unwrap_or_else(|| "/".to_owned());
        protocol::http::resolve(base, &written).map_err(|error| Exception::throw_message(ctx, &error.to_string()))
    }
}

#[rquickjs::methods]
impl Cookies {
    fn get(&self, ctx: Ctx<'_>, name: String, url: Opt<Option<String>>) -> rquickjs::Result<Option<String>> {
        Ok(self.cell.session.cookie(&self.site(&ctx, url)?, &name))
    }

    fn set(&self, ctx: Ctx<'_>, name: String, value: String, url: Opt<Option<String>>) -> rquickjs::Result<()> {
        self.cell.session.set_cookie(&self.site(&ctx, url)?, &name, &value);
        Ok(())
    }

    fn clear(&self) {
        self.cell.session.clear_cookies();
    }
}
