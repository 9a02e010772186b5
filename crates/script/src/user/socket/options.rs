//! Reads the options of sockets, messages and pings.

use rquickjs::{Array, Ctx, Exception, FromJs, Object, Value};

use super::matcher::Matcher;
use crate::crew::cell::UserCell;
use crate::user::options::{self, Options};

/// What `user.ws` was told beside the URL.
#[derive(Default)]
pub(super) struct Opening {
    /// Name, headers, credentials and time limit of the handshake.
    pub(super) request: Options,
    pub(super) protocols: Vec<String>,
    pub(super) compression: bool,
    pub(super) drops_unread: bool,
    pub(super) keep: bool,
}

impl Opening {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut opening = Self::default();
        each(ctx, given, "ws(…)", |key, value| {
            match key {
                "name" => opening.request.name = Some(options::text(ctx, &value, "name")?),
                "headers" => opening.request.headers = options::pairs(ctx, &value, "headers")?,
                "auth" => opening.request.authorization = Some(options::authorization(ctx, &value)?),
                "timeout" => opening.request.timeout_ns = Some(options::duration(ctx, &value, "timeout")?),
                "protocols" => opening.protocols = protocols(ctx, &value)?,
                "compression" => opening.compression = switch(ctx, value, "compression")?,
                "keep" => opening.keep = switch(ctx, value, "keep")?,
                "unread" => opening.drops_unread = drops_unread(ctx, &value)?,
                other => {
                    let known = "name, headers, auth, timeout, protocols, compression, unread, keep";
                    return Err(wrong(ctx, &format!("a WebSocket has no option `{other}`; known are: {known}")));
                }
            }
            Ok(())
        })?;
        Ok(opening)
    }
}

/// What `user.events` was told beside the URL.
#[derive(Default)]
pub(super) struct Listening {
    pub(super) request: Options,
    pub(super) method: Option<String>,
    pub(super) drops_unread: bool,
    pub(super) reconnects: Option<bool>,
}

impl Listening {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, user: &UserCell, given: Option<&Value<'js>>) -> rquickjs::Result<Self> {
        let mut listening = Self::default();
        each(ctx, given, "events(…)", |key, value| {
            match key {
                "method" => listening.method = Some(options::text(ctx, &value, "method")?.to_ascii_uppercase()),
                "unread" => listening.drops_unread = drops_unread(ctx, &value)?,
                "reconnect" => listening.reconnects = Some(switch(ctx, value, "reconnect")?),
                "name" | "headers" | "query" | "auth" | "timeout" | "redirects" | "json" | "form" | "body" => {
                    listening.request.take(ctx, user, key, value)?;
                }
                other => {
                    let known = "name, headers, query, auth, timeout, redirects, method, json, form, body, unread, reconnect";
                    return Err(wrong(ctx, &format!("a stream of events has no option `{other}`; known are: {known}")));
                }
            }
            Ok(())
        })?;
        Ok(listening)
    }
}

/// Which message is waited for, under which name and how long.
pub(super) struct Waited {
    pub(super) name: Option<String>,
    pub(super) matcher: Matcher,
    pub(super) within_ns: Option<u64>,
}

impl Waited {
    /// The options of `what`, which takes those that are `known`.
    pub(super) fn read<'js>(ctx: &Ctx<'js>, given: Option<&Value<'js>>, what: &str, known: &[&str]) -> rquickjs::Result<Self> {
        let mut waited = Self { name: None, matcher: Matcher::Any, within_ns: None };
        each(ctx, given, what, |key, value| {
            match key {
                key if !known.contains(&key) => {
                    return Err(wrong(ctx, &format!("{what} has no option `{key}`; known are: {}", known.join(", "))));
                }
                "name" => waited.name = Some(options::text(ctx, &value, "name")?),
                "within" => waited.within_ns = Some(options::duration(ctx, &value, "within")?),
                _ => waited.matcher = Matcher::read(ctx, value)?,
            }
            Ok(())
        })?;
        Ok(waited)
    }
}

fn each<'js>(
    ctx: &Ctx<'js>,
    given: Option<&Value<'js>>,
    what: &str,
    mut take: impl FnMut(&str, Value<'js>) -> rquickjs::Result<()>,
) -> rquickjs::Result<()> {
    let Some(given) = given.filter(|value| !value.is_undefined()) else { return Ok(()) };
    let object: &Object<'js> = given.as_object().ok_or_else(|| wrong(ctx, &format!("{what}: the options are an object")))?;
    for property in object.props::<String, Value<'js>>() {
        let (key, value) = property?;
        if !value.is_undefined() {
            take(&key, value)?;
        }
    }
    Ok(())
}

fn protocols<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<String>> {
    let list = Array::from_js(ctx, value.clone()).map_err(|_| wrong(ctx, "protocols is a list of names"))?;
    // RFC 6455, section 4.1: each is a token.
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    list.iter::<Value<'js>>()
        .map(|item| {
            let name = options::text(ctx, &item?, "protocols")?;
            if name.is_empty() || !name.bytes().all(token) {
                return Err(wrong(ctx, &format!("protocols: \"{name}\" is not the name of a sub-protocol")));
            }
            Ok(name)
        })
        .collect()
}

fn drops_unread<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<bool> {
    match options::text(ctx, value, "unread")?.as_str() {
        "keep" => Ok(false),
        "drop" => Ok(true),
        _ => Err(wrong(ctx, "unread is \"keep\" or \"drop\"")),
    }
}

fn switch<'js>(ctx: &Ctx<'js>, value: Value<'js>, what: &str) -> rquickjs::Result<bool> {
    value.as_bool().ok_or_else(|| wrong(ctx, &format!("{what} is true or false")))
}

fn wrong(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, message)
}
