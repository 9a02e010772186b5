//! The response of a request, as the script receives it. `http.ts` builds the object.

use std::ffi::CStr;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::Phases;
use loadstone_protocol::http::{Exchange, Hops, Request, Response};
use rquickjs::class::Trace;
use rquickjs::function::IntoArgs;
use rquickjs::{Array, ArrayBuffer, Class, Ctx, Exception, Function, IntoJs, JsLifetime, Object, Value, qjs};

use super::error_code::error_code;

/// The parameter `responseType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseType {
    Text,
    Binary,
    None,
}

impl ResponseType {
    pub(super) fn by_default(discards_bodies: bool) -> Self {
        if discards_bodies { Self::None } else { Self::Text }
    }

    pub(super) fn of(written: &str) -> Self {
        match written {
            "none" => Self::None,
            "binary" => Self::Binary,
            _ => Self::Text,
        }
    }
}

/// A request that has ended, for its script.
pub(super) struct CompletedRequest {
    pub(super) hops: Hops,
    pub(super) response_type: ResponseType,
    pub(super) url: Option<Rc<str>>,
}

/// What every response of a VU is built with. Looking them up for each would take longer than building it.
struct ResponseParts<'js> {
    /// `respond` of `http.ts`.
    respond: Function<'js>,
    lazy_members: Vec<LazyMember<'js>>,
}

struct LazyMember<'js> {
    /// It lives as long as the runtime.
    name: qjs::JSAtom,
    getter: Value<'js>,
    setter: Value<'js>,
}

// SAFETY: the only lifetime is that of the runtime.
unsafe impl<'js> JsLifetime<'js> for ResponseParts<'js> {
    type Changed<'to> = ResponseParts<'to>;
}

impl<'js> ResponseParts<'js> {
    fn read(ctx: &Ctx<'js>) -> rquickjs::Result<Self> {
        let native: Object<'js> = ctx.globals().get("__k6")?;
        let accessors: Array<'js> = native.get("lazyMembers")?;
        let lazy_member = |(index, name): (usize, &CStr)| {
            let (getter, setter) = (accessors.get(2 * index)?, accessors.get(2 * index + 1)?);
            // SAFETY: the context is alive and entered. The atom is freed with its runtime.
            Ok(LazyMember { name: unsafe { qjs::JS_NewAtom(ctx.as_raw().as_ptr(), name.as_ptr()) }, getter, setter })
        };
        let lazy_members = [c"headers", c"timings", c"request"].into_iter().enumerate().map(lazy_member);
        Ok(Self { respond: native.get("respond")?, lazy_members: lazy_members.collect::<rquickjs::Result<_>>()? })
    }
}

/// Builds a response with the function of `http.ts`.
pub(super) fn respond<'js>(ctx: &Ctx<'js>, members: impl IntoArgs<'js>) -> rquickjs::Result<Value<'js>> {
    if ctx.userdata::<ResponseParts<'js>>().is_none() {
        let _ = ctx.store_userdata(ResponseParts::read(ctx)?);
    }
    let Some(parts) = ctx.userdata::<ResponseParts<'js>>() else {
        return Err(Exception::throw_internal(ctx, "responses cannot be built here"));
    };
    let response: Object<'js> = parts.respond.call(members)?;
    parts.lazy_members.iter().try_for_each(|member| define(ctx, &response, member))?;
    Ok(response.into_value())
}

/// An accessor that is listed and may be replaced.
fn define<'js>(ctx: &Ctx<'js>, object: &Object<'js>, member: &LazyMember<'js>) -> rquickjs::Result<()> {
    const FLAGS: u32 = qjs::JS_PROP_HAS_GET
        | qjs::JS_PROP_HAS_SET
        | qjs::JS_PROP_HAS_ENUMERABLE
        | qjs::JS_PROP_HAS_CONFIGURABLE
        | qjs::JS_PROP_ENUMERABLE
        | qjs::JS_PROP_CONFIGURABLE;
    let LazyMember { name, getter, setter } = member;
    let context = ctx.as_raw().as_ptr();
    // SAFETY: the context is alive and entered, and so are the values and the atom, which QuickJS does not take over.
    let defined = unsafe {
        qjs::JS_DefineProperty(context, object.as_raw(), *name, qjs::JS_UNDEFINED, getter.as_raw(), setter.as_raw(), FLAGS as i32)
    };
    if defined < 0 { Err(rquickjs::Error::Exception) } else { Ok(()) }
}

/// `res.timings`. Milliseconds.
pub(super) struct Timings {
    pub(super) blocked: f64,
    pub(super) looking_up: f64,
    pub(super) connecting: f64,
    pub(super) tls: f64,
    pub(super) sending: f64,
    pub(super) waiting: f64,
    pub(super) receiving: f64,
}

impl Timings {
    pub(super) fn of(exchange: &Exchange) -> Self {
        let Phases { queue, dns, connect, tls, wait, body } = exchange.phases;
        let total = exchange.ended.saturating_sub(exchange.started);
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            blocked: ms(queue + dns),
            looking_up: ms(dns),
            connecting: ms(connect),
            tls: ms(tls),
            sending: ms(total.saturating_sub(queue + dns + connect + tls + wait + body)),
            waiting: ms(wait),
            receiving: ms(body),
        }
    }
}

/// k6's `error_code`, and `error`, which is empty for a response with a status.
pub(super) fn error_of(exchange: &Exchange) -> (u32, String) {
    match &exchange.result {
        Ok(response) if response.status >= 400 => (1000 + u32::from(response.status), String::new()),
        Ok(_) => (0, String::new()),
        Err(failure) => (error_code(failure), failure.message.clone()),
    }
}

pub(super) fn proto(exchange: &Exchange) -> &'static str {
    match exchange.response() {
        None => "",
        Some(response) if response.headers.is_http2() => "HTTP/2.0",
        Some(_) => "HTTP/1.1",
    }
}

impl CompletedRequest {
    /// The response, as `http.ts` builds it.
    pub(super) fn into_value<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        let Self { mut hops, response_type, url } = self;
        let url = match url.filter(|_| hops.before.is_empty()) {
            Some(url) => rquickjs::String::from_str(ctx.clone(), &url)?.into_value(),
            None => url_of(ctx, &hops.last.request)?,
        };
        let exchange = &mut hops.last.exchange;
        let (error_code, error) = error_of(exchange);
        let proto = proto(exchange);
        // As in k6, a response that failed after its head has no status.
        let (status, body) = match &mut exchange.result {
            Ok(response) => (response.status, body(ctx, std::mem::take(&mut response.body), response_type)?),
            Err(_) => (0, Value::new_null(ctx.clone())),
        };
        let sent = Class::instance(ctx.clone(), AnsweredRequest { hops })?;
        respond(ctx, (status, body, error, error_code, url, proto, sent))
    }
}

/// A request and its response without the body, for the members of a response that few scripts read.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "AnsweredRequest")]
struct AnsweredRequest {
    #[qjs(skip_trace)]
    hops: Hops,
}

impl AnsweredRequest {
    /// As in k6, a response that failed after its head has no members.
    fn response(&self) -> Option<&Response> {
        self.hops.last.exchange.result.as_ref().ok()
    }

    /// Address and port of the server, or of the proxy before it.
    fn remote(&self) -> Option<SocketAddr> {
        self.hops.last.exchange.peer.as_ref()?.address
    }
}

#[rquickjs::methods]
impl AnsweredRequest {
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        // Go's client removes the framing of HTTP/1.1.
        let fields = self.response().map(|response| response.headers.iter().filter(|(name, _)| *name != "transfer-encoding"));
        headers(&ctx, fields.into_iter().flatten())
    }

    /// Lines of `Set-Cookie`.
    fn cookies(&self) -> Vec<String> {
        let response = self.response().filter(|response| response.headers.sets_cookies());
        response.map(|response| response.headers.all("set-cookie").map(str::to_owned).collect()).unwrap_or_default()
    }

    fn remote_ip(&self) -> Option<String> {
        self.remote().map(|address| address.ip().to_string())
    }

    fn remote_port(&self) -> Option<u16> {
        self.remote().map(|address| address.port())
    }

    /// Version and cipher suite, by k6's names.
    fn tls(&self) -> Option<Vec<String>> {
        let tls = self.hops.last.exchange.peer.as_ref()?.tls.as_ref()?;
        // k6 omits the hash in the names of these three suites of TLS 1.2.
        let is_short = tls.version == "1.2" && tls.cipher_suite.contains("CHACHA20");
        let suite = if is_short { tls.cipher_suite.trim_end_matches("_SHA256") } else { &tls.cipher_suite };
        Some(vec![format!("tls{}", tls.version), suite.to_owned()])
    }

    fn timings<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let times = Timings::of(&self.hops.last.exchange);
        let object = Object::new(ctx)?;
        object.set("duration", times.sending + times.waiting + times.receiving)?;
        object.set("blocked", times.blocked)?;
        object.set("looking_up", times.looking_up)?;
        object.set("connecting", times.connecting)?;
        object.set("tls_handshaking", times.tls)?;
        object.set("sending", times.sending)?;
        object.set("waiting", times.waiting)?;
        object.set("receiving", times.receiving)?;
        Ok(object)
    }

    /// The first request, if there were redirects.
    fn request<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let request = &self.hops.before.first().unwrap_or(&self.hops.last).request;
        let lines = Object::new(ctx.clone())?;
        for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
            lines.set(canonical(name), vec![value.as_str()])?;
        }
        let object = Object::new(ctx.clone())?;
        object.set("method", &*request.method)?;
        object.set("url", url_of(&ctx, request)?)?;
        object.set("headers", lines)?;
        object.set("body", text_of(&ctx, &request.body.to_vec())?)?;
        Ok(object)
    }
}

fn url_of<'js>(ctx: &Ctx<'js>, request: &Request) -> rquickjs::Result<Value<'js>> {
    request.url().map(String::from).unwrap_or_default().into_js(ctx)
}

fn body<'js>(ctx: &Ctx<'js>, bytes: Bytes, response_type: ResponseType) -> rquickjs::Result<Value<'js>> {
    match response_type {
        ResponseType::None => Ok(Value::new_null(ctx.clone())),
        ResponseType::Binary => ArrayBuffer::new(ctx.clone(), Vec::from(bytes)).map(ArrayBuffer::into_value),
        ResponseType::Text => text_of(ctx, &bytes),
    }
}

fn text_of<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> rquickjs::Result<Value<'js>> {
    rquickjs::String::from_str(ctx.clone(), &String::from_utf8_lossy(bytes)).map(rquickjs::String::into_value)
}

/// Header lines under their canonical names (`Content-Type`), as in Go. Several values of a name are joined.
pub(super) fn headers<'js, 'h>(ctx: &Ctx<'js>, lines: impl Iterator<Item = (&'h str, &'h str)>) -> rquickjs::Result<Object<'js>> {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in lines {
        let name = canonical(name);
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.push_str(", ");
                known.push_str(value);
            }
            None => joined.push((name, value.to_owned())),
        }
    }
    let object = Object::new(ctx.clone())?;
    for (name, value) in joined {
        object.set(name, value)?;
    }
    Ok(object)
}

fn canonical(name: &str) -> String {
    let mut starts = true;
    name.chars()
        .map(|c| {
            let c = if starts { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            starts = c == '-';
            c
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_are_canonical_as_in_go() {
        for (name, canonical_name) in [("content-type", "Content-Type"), ("X-API-key", "X-Api-Key"), ("etag", "Etag"), ("x-1-a", "X-1-A")] {
            assert_eq!(canonical(name), canonical_name);
        }
    }
}
