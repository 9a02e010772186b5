//! Cookie jars: that of the VU, and those that the script creates. `http-parts.ts` has the class.

use std::rc::Rc;

use loadstone_protocol::http::{CallCookie, CookieJar};
use rquickjs::class::Trace;
use rquickjs::convert::List;
use rquickjs::{Class, Ctx, Exception, Function, JsLifetime, Object};
use url::Url;

use crate::turn::Turn;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("vuJar", Function::new(ctx.clone(), vu_jar)?)?;
    native.set("newJar", Function::new(ctx.clone(), new_jar)?)
}

/// A jar, as the script holds it.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "NativeJar")]
pub(super) struct NativeJar {
    #[qjs(skip_trace)]
    jar: Rc<CookieJar>,
}

/// The jar of a call: its parameter `jar`, or else that of the VU.
pub(super) fn jar_of(turn: &Turn, call: &Object<'_>) -> rquickjs::Result<Rc<CookieJar>> {
    let jar: Option<Class<'_, NativeJar>> = call.get("jar")?;
    Ok(jar.map_or_else(|| turn.vu().session.jar(), |jar| Rc::clone(&jar.borrow().jar)))
}

/// The parameter `cookies` of a call: name, value, and whether it replaces that of the jar.
pub(super) fn call_cookies(call: &Object<'_>) -> rquickjs::Result<Vec<CallCookie>> {
    let cookies: Option<Vec<List<(String, String, bool)>>> = call.get("cookies")?;
    Ok(cookies.into_iter().flatten().map(|List((name, value, replaces))| CallCookie { name, value, replaces }).collect())
}

fn vu_jar<'js>(ctx: Ctx<'js>) -> rquickjs::Result<Class<'js, NativeJar>> {
    let jar = Turn::running(&ctx, "the cookie jar")?.vu().session.jar();
    Class::instance(ctx, NativeJar { jar })
}

fn new_jar<'js>(ctx: Ctx<'js>) -> rquickjs::Result<Class<'js, NativeJar>> {
    Class::instance(ctx, NativeJar { jar: Rc::default() })
}

fn parsed(ctx: &Ctx<'_>, url: &str) -> rquickjs::Result<Url> {
    Url::parse(url).map_err(|error| Exception::throw_message(ctx, &format!("\"{url}\": {error}")))
}

#[rquickjs::methods]
impl NativeJar {
    /// The `Cookie` value of a request to a URL.
    fn cookies(&self, ctx: Ctx<'_>, url: String) -> rquickjs::Result<Option<String>> {
        Ok(self.jar.cookies(&parsed(&ctx, &url)?))
    }

    /// Stores a cookie as if the server had sent this `Set-Cookie` value.
    fn set(&self, ctx: Ctx<'_>, url: String, line: String) -> rquickjs::Result<()> {
        self.jar.take_cookie(&parsed(&ctx, &url)?, &line);
        Ok(())
    }
}
