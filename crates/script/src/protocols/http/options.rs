//! Reads the options of a request (`{ name, headers, json, … }`) into the parts of the request.

use bytes::Bytes;
use loadstone_metrics::Tags;
use loadstone_protocol::http::{BodyUse, Multipart, form};
use rquickjs::{Coerced, Ctx, FromJs, Object, Value};

use super::expect::{EXPECT, Expectation};
use crate::data::bindings::texts::FileHandle;
use crate::exact_json;
use crate::globals::bytes::bytes_of;
use crate::protocols::options::{duration, each, not_in, pairs, text, wrong};
use crate::runtime::user::UserState;
use crate::settings::Auth;
use crate::tags;
use crate::unknown_options::OptionSet;

/// The options of one request. Missing options come from the scenario.
#[derive(Default)]
pub(in crate::protocols) struct RequestOptions {
    pub(in crate::protocols) name: Option<String>,
    pub(in crate::protocols) headers: Vec<(String, String)>,
    pub(in crate::protocols) query: Vec<(String, String)>,
    pub(in crate::protocols) body: Bytes,
    /// Sent unless the request has a header of that name.
    pub(in crate::protocols) content_type: Option<String>,
    /// `Some(None)`: no limit.
    pub(in crate::protocols) authorization: Option<Option<String>>,
    pub(in crate::protocols) timeout_ns: Option<u64>,
    pub(in crate::protocols) redirects: Option<u32>,
    pub(in crate::protocols) without_cookies: bool,
    pub(in crate::protocols) body_use: Option<BodyUse>,
    pub(in crate::protocols) expect: Option<Box<Expectation>>,
    pub(in crate::protocols) tags: Tags,
}

/// Of a request.
pub(super) static REQUEST: OptionSet = OptionSet { of: "a request", known: KNOWN, within: &[("expect", &EXPECT), ("auth", &AUTH)] };

pub(in crate::protocols) static AUTH: OptionSet = OptionSet::new("auth", &["bearer", "username", "password"]);

const KNOWN: &[&str] = &[
    "name",
    "headers",
    "query",
    "auth",
    "timeout",
    "redirects",
    "cookies",
    "discardBody",
    "expect",
    "tags",
    "json",
    "form",
    "multipart",
    "body",
];

impl RequestOptions {
    pub(in crate::protocols) fn read<'js>(ctx: &Ctx<'js>, user: &UserState, object: &Object<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object.as_value()), REQUEST.of, |key, value| options.take(ctx, user, key, value))?;
        Ok(options)
    }

    /// Reads one option.
    pub(in crate::protocols) fn take<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        user: &UserState,
        key: &str,
        value: Value<'js>,
    ) -> rquickjs::Result<()> {
        match key {
            "name" => self.name = Some(text(ctx, &value, "name")?),
            "headers" => self.headers = pairs(ctx, &value, "headers")?,
            "query" => self.query = pairs(ctx, &value, "query")?,
            "auth" => self.authorization = Some(authorization(ctx, &value)?),
            "timeout" => self.timeout_ns = Some(duration(ctx, &value, "timeout")?),
            "redirects" => {
                self.redirects =
                    Some(u32::from_js(ctx, value).map_err(|_| wrong(ctx, "redirects: expected the number of redirects to follow"))?)
            }
            "cookies" => self.without_cookies = !bool::from_js(ctx, value)?,
            "discardBody" => self.body_use = Some(if bool::from_js(ctx, value)? { BodyUse::Discard } else { BodyUse::Keep }),
            "expect" => {
                let wanted = value.as_object().ok_or_else(|| wrong(ctx, "expect: expected an object such as { status: 200 }"))?;
                let path_of = |path: &str| user.worker.compiled.borrow_mut().json(path).map_err(|error| wrong(ctx, &error.to_string()));
                self.expect = Some(Box::new(Expectation::read(ctx, wanted, path_of)?));
            }
            "tags" => self.tags = tags::read(ctx, &value, &"a request")?,
            "json" => {
                let json = exact_json::stringify(ctx, value)?.ok_or_else(|| wrong(ctx, "json: the value cannot be serialised as JSON"))?;
                self.set_body(ctx, json, Some("application/json"))?;
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
            other => return Err(not_in(ctx, other, &REQUEST)),
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
            None => Err(wrong(ctx, "body: expected a string, bytes (Uint8Array) or a file; put objects in `json`")),
        }
    }

    fn set_body(&mut self, ctx: &Ctx<'_>, body: impl Into<Bytes>, content_type: Option<&str>) -> rquickjs::Result<()> {
        if !self.body.is_empty() {
            return Err(wrong(ctx, "a request has one body: use only one of json, form, multipart and body"));
        }
        self.body = body.into();
        self.content_type = content_type.map(str::to_owned);
        Ok(())
    }
}

pub(in crate::protocols) fn authorization<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let object = value.as_object().ok_or_else(|| wrong(ctx, "auth: expected { username, password }, { bearer } or null"))?;
    let (mut bearer, mut username, mut password) = (None, None, None);
    each(ctx, Some(object.as_value()), AUTH.of, |key, value| {
        let part = match key {
            "bearer" => &mut bearer,
            "username" => &mut username,
            "password" => &mut password,
            other => return Err(not_in(ctx, other, &AUTH)),
        };
        *part = Some(text(ctx, &value, &format!("auth.{key}"))?);
        Ok(())
    })?;
    match (bearer, username, password) {
        (Some(bearer), None, None) => Ok(Some(Auth::Bearer { bearer }.header())),
        (None, Some(username), Some(password)) => Ok(Some(Auth::Basic { username, password }.header())),
        _ => Err(wrong(ctx, "auth: expected { username, password }, { bearer } or null")),
    }
}

fn multipart<'js>(ctx: &Ctx<'js>, value: &Value<'js>, boundary: String) -> rquickjs::Result<(String, Bytes)> {
    let fields = value.as_object().ok_or_else(|| wrong(ctx, "multipart: expected an object of fields and files"))?;
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
