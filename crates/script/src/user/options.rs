//! Reads the options of a request (`{ name, headers, json, … }`) into what the request is built from.

use bytes::Bytes;
use protocol::http::{BodyUse, Multipart, form};
use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Value};

use super::expect::Expect;
use crate::crew::cell::UserCell;
use crate::data::bindings::texts::FileHandle;
use crate::globals::bytes::bytes_of;
use crate::settings::Auth;

/// What the options of one request say; absent parts leave the scenario's.
#[derive(Default)]
pub(super) struct Options {
    pub(super) name: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Bytes,
    /// Sent unless a header of that name is given.
    pub(super) content_type: Option<String>,
    /// `Some(None)`: none at all.
    pub(super) authorization: Option<Option<String>>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) redirects: Option<u32>,
    pub(super) without_cookies: bool,
    pub(super) body_use: Option<BodyUse>,
    pub(super) expect: Option<Box<Expect>>,
}

const KNOWN: &str = "name, headers, query, auth, timeout, redirects, cookies, discardBody, expect, json, form, multipart, body";

impl Options {
    pub(super) fn read<'js>(ctx: &Ctx<'js>, user: &UserCell, given: &Object<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        for property in given.props::<String, Value<'js>>() {
            let (key, value) = property?;
            if !value.is_undefined() {
                options.take(ctx, user, &key, value)?;
            }
        }
        Ok(options)
    }

    /// Takes one option.
    pub(super) fn take<'js>(&mut self, ctx: &Ctx<'js>, user: &UserCell, key: &str, value: Value<'js>) -> rquickjs::Result<()> {
        match key {
            "name" => self.name = Some(text(ctx, &value, "name")?),
            "headers" => self.headers = pairs(ctx, &value, "headers")?,
            "query" => self.query = pairs(ctx, &value, "query")?,
            "auth" => self.authorization = Some(authorization(ctx, &value)?),
            "timeout" => self.timeout_ns = Some(duration(ctx, &value, "timeout")?),
            "redirects" => {
                self.redirects = Some(u32::from_js(ctx, value).map_err(|_| wrong(ctx, "redirects: write how many may be followed"))?)
            }
            "cookies" => self.without_cookies = !bool::from_js(ctx, value)?,
            "discardBody" => self.body_use = Some(if bool::from_js(ctx, value)? { BodyUse::Discard } else { BodyUse::Keep }),
            "expect" => {
                let wanted = value.as_object().ok_or_else(|| wrong(ctx, "expect is an object such as { status: 200 }"))?;
                let path_of = |path: &str| user.desk.compiled.borrow_mut().json(path).map_err(|error| wrong(ctx, &error.to_string()));
                self.expect = Some(Box::new(Expect::read(ctx, wanted, path_of)?));
            }
            "json" => {
                let json = ctx.json_stringify(value)?.ok_or_else(|| wrong(ctx, "json: the value cannot be written as JSON"))?;
                self.set_body(ctx, json.to_string()?, Some("application/json"))?;
            }
            "form" => {
                let fields = pairs(ctx, &value, "form")?;
                let encoded = form(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                self.set_body(ctx, encoded, Some("application/x-www-form-urlencoded"))?;
            }
            "multipart" => {
                let boundary = format!("loadstone{:016x}", user.random.draws().bits());
                let (content_type, content) = multipart(ctx, &value, boundary)?;
                self.set_body(ctx, content, Some(&content_type))?;
            }
            "body" => self.take_body(ctx, &value)?,
            other => return Err(wrong(ctx, &format!("a request has no option `{other}`; known are: {KNOWN}"))),
        }
        Ok(())
    }

    fn take_body<'js>(&mut self, ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<()> {
        if let Some(text) = value.as_string() {
            return self.set_body(ctx, text.to_string()?, None);
        }
        if let Some(file) = FileHandle::of(value) {
            let file = file.borrow();
            let content = Bytes::copy_from_slice(file.content().bytes());
            return self.set_body(ctx, content, Some(file.content_type()));
        }
        match bytes_of(value) {
            Some(bytes) => self.set_body(ctx, bytes, None),
            None => Err(wrong(ctx, "body: give a text, bytes (Uint8Array) or a file; objects go in `json`")),
        }
    }

    fn set_body(&mut self, ctx: &Ctx<'_>, body: impl Into<Bytes>, content_type: Option<&str>) -> rquickjs::Result<()> {
        if !self.body.is_empty() {
            return Err(wrong(ctx, "a request has one body: give one of json, form, multipart and body"));
        }
        self.body = body.into();
        self.content_type = content_type.map(str::to_owned);
        Ok(())
    }
}

fn wrong(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    Exception::throw_type(ctx, message)
}

pub(super) fn text<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<String> {
    value.as_string().ok_or_else(|| wrong(ctx, &format!("{what}: a text is needed")))?.to_string()
}

/// A duration's nanoseconds.
pub(super) fn duration<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<u64> {
    let written = value.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    units::duration::parse(&written).map_err(|problem| wrong(ctx, &format!("{what}: {problem}")))
}

/// Names and values of an object; a list repeats its name, `null` and `undefined` are left out.
pub(super) fn pairs<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<Vec<(String, String)>> {
    let object = value.as_object().ok_or_else(|| wrong(ctx, &format!("{what} is an object of names and values")))?;
    let mut list = Vec::new();
    for property in object.props::<String, Value<'js>>() {
        let (name, value) = property?;
        match value.as_array() {
            Some(items) => {
                for item in items.iter::<Value<'js>>() {
                    push(ctx, &mut list, &name, item?)?;
                }
            }
            None => push(ctx, &mut list, &name, value)?,
        }
    }
    Ok(list)
}

fn push<'js>(ctx: &Ctx<'js>, list: &mut Vec<(String, String)>, name: &str, value: Value<'js>) -> rquickjs::Result<()> {
    if !value.is_null() && !value.is_undefined() {
        list.push((name.to_owned(), Coerced::<String>::from_js(ctx, value)?.0));
    }
    Ok(())
}

pub(super) fn authorization<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let given = value.as_object().ok_or_else(|| wrong(ctx, "auth is { username, password }, { bearer } or null"))?;
    let part = |key: &str| given.get::<_, Option<String>>(key);
    match (part("bearer")?, part("username")?, part("password")?) {
        (Some(bearer), _, _) => Ok(Some(Auth::Bearer { bearer }.header())),
        (None, Some(username), Some(password)) => Ok(Some(Auth::Basic { username, password }.header())),
        _ => Err(wrong(ctx, "auth is { username, password }, { bearer } or null")),
    }
}

fn multipart<'js>(ctx: &Ctx<'js>, value: &Value<'js>, boundary: String) -> rquickjs::Result<(String, Bytes)> {
    let fields = value.as_object().ok_or_else(|| wrong(ctx, "multipart is an object of fields and files"))?;
    let mut parts = Multipart::new(boundary);
    for property in fields.props::<String, Value<'js>>() {
        let (name, value) = property?;
        parts = match FileHandle::of(&value) {
            Some(file) => {
                let file = file.borrow();
                parts.file(&name, file.file_name(), file.content_type(), file.content().bytes())
            }
            None => parts.text(&name, &Coerced::<String>::from_js(ctx, value)?.0),
        };
    }
    Ok(parts.finish())
}
