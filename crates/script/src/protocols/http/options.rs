//! Reads the options of a request (`{ name, headers, json, … }`) into the parts of the request.

use std::net::IpAddr;

use loadstone_metrics::Tags;
use loadstone_protocol::http::{BodyUse, Coding, Multipart, SharedBody, form};
use rquickjs::{Ctx, FromJs, Object, Value};

use super::expect::{EXPECT, Expectation};
use super::retry_policy::{RETRY, RetryPolicy};
use crate::data::bindings::texts::FileHandle;
use crate::exact_json;
use crate::globals::bytes::bytes_of;
use crate::protocols::options::{duration, each, headers, named_values, not_in, pairs, text, unknown, value_text, wrong};
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
    pub(in crate::protocols) body: SharedBody,
    /// The body has parts with a boundary, which its content type names.
    has_parts: bool,
    pub(in crate::protocols) trailers: Vec<(String, String)>,
    /// The body is compressed.
    compress: Option<(&'static str, Coding)>,
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
    /// The local address of the connection.
    pub(in crate::protocols) source: Option<IpAddr>,
    /// `Some(None)`: off, whatever the test's policy is.
    pub(in crate::protocols) retry: Option<Option<RetryPolicy>>,
}

/// Of a request.
pub(crate) static REQUEST: OptionSet =
    OptionSet { of: "a request", known: KNOWN, within: &[("expect", &EXPECT), ("auth", &AUTH), ("retry", &RETRY)] };

pub(in crate::protocols) static AUTH: OptionSet = OptionSet::new("auth", &["bearer", "username", "password"]);

/// The content type of bytes without one (RFC 2046, section 4.5.1).
const BYTES_TYPE: &str = "application/octet-stream";

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
    "compress",
    "trailers",
    "retry",
    "source",
];

impl RequestOptions {
    pub(in crate::protocols) fn read<'js>(ctx: &Ctx<'js>, user: &UserState, object: &Object<'js>) -> rquickjs::Result<Self> {
        let mut options = Self::default();
        each(ctx, Some(object.as_value()), REQUEST.of, |key, value| options.take(ctx, user, key, value))?;
        let names_type = options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if options.has_parts && names_type {
            return Err(wrong(
                ctx,
                "multipart: remove the Content-Type header: Loadstone sends it, with the boundary that separates the parts",
            ));
        }
        options.compress_body(ctx)?;
        Ok(options)
    }

    /// Compresses the body, and adds the header that says so.
    fn compress_body(&mut self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let Some((name, coding)) = self.compress else { return Ok(()) };
        if self.body.is_empty() {
            return Err(wrong(ctx, "compress: the request has no body"));
        }
        if self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-encoding")) {
            return Err(wrong(ctx, "compress: remove the Content-Encoding header: Loadstone sends it"));
        }
        self.body = coding.encode(&self.body).map_err(|error| wrong(ctx, &format!("compress: {error}")))?;
        self.headers.push(("Content-Encoding".to_owned(), name.to_owned()));
        Ok(())
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
            "headers" => self.headers = headers(ctx, &value, "headers")?,
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
            "retry" => self.retry = Some(RetryPolicy::read(ctx, &value)?),
            "tags" => self.tags = tags::read(ctx, &value, &"a request")?,
            "source" => self.source = Some(source(ctx, &value)?),
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
                self.has_parts = true;
            }
            "body" => self.take_body(ctx, &value)?,
            "compress" => {
                let wanted = text(ctx, &value, "compress")?;
                let known = Coding::NAMES.into_iter().find(|(name, _)| *name == wanted);
                self.compress = Some(known.ok_or_else(|| wrong(ctx, "compress: expected \"gzip\", \"deflate\", \"br\" or \"zstd\""))?);
            }
            "trailers" => self.trailers = headers(ctx, &value, "trailers")?,
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
            let content = file.content().bytes().clone();
            return self.set_body(ctx, content, Some(file.content_type()));
        }
        match bytes_of(value) {
            Some(bytes) => self.set_body(ctx, bytes, None),
            None => Err(wrong(ctx, "body: expected a string, bytes (Uint8Array) or a file; put objects in `json`")),
        }
    }

    fn set_body(&mut self, ctx: &Ctx<'_>, body: impl Into<SharedBody>, content_type: Option<&str>) -> rquickjs::Result<()> {
        if !self.body.is_empty() {
            return Err(wrong(ctx, "a request has one body: use only one of json, form, multipart and body"));
        }
        self.body = body.into();
        self.content_type = content_type.map(str::to_owned);
        Ok(())
    }
}

/// A local address. Ranges belong to the option `sources` of the test.
pub(in crate::protocols) fn source<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<IpAddr> {
    let written = text(ctx, value, "source")?;
    let problem = || format!("source: \"{written}\" is not an address; write one local address, such as \"10.0.0.7\"");
    written.parse().map_err(|_| wrong(ctx, &problem()))
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

/// The parts of a body, with its content type. A list yields several parts of one name.
fn multipart<'js>(ctx: &Ctx<'js>, value: &Value<'js>, boundary: String) -> rquickjs::Result<(String, SharedBody)> {
    let mut parts = Some(Multipart::new(boundary));
    named_values(ctx, value, "multipart", |name, value| {
        if let Some(begun) = parts.take() {
            parts = Some(if value.is_null() || value.is_undefined() { begun } else { part(ctx, begun, name, &value)? });
        }
        Ok(())
    })?;
    let parts = parts.ok_or_else(|| wrong(ctx, "multipart: expected an object of fields and files"))?;
    Ok(parts.finish())
}

/// Adds one part: a field, a file, bytes, or an object that describes a part.
fn part<'js>(ctx: &Ctx<'js>, parts: Multipart, name: &str, value: &Value<'js>) -> rquickjs::Result<Multipart> {
    if let Some(file) = FileHandle::of(value) {
        let file = file.borrow();
        return Ok(parts.part(name, Some(file.file_name()), Some(file.content_type()), file.content().bytes()));
    }
    let what = format!("multipart.{name}");
    if !value.is_object() {
        return Ok(parts.text(name, &value_text(ctx, value, &what)?));
    }
    if let Some(bytes) = bytes_of(value) {
        return Ok(parts.part(name, None, Some(BYTES_TYPE), &bytes.into()));
    }
    if value.is_function() {
        return value_text(ctx, value, &what).map(|text| parts.text(name, &text));
    }
    let (mut content, mut filename, mut content_type) = (None, None, None);
    each(ctx, Some(value), &what, |key, value| {
        match key {
            "content" => content = Some(value),
            "filename" => filename = Some(text(ctx, &value, &format!("{what}.filename"))?),
            "contentType" => content_type = Some(text(ctx, &value, &format!("{what}.contentType"))?),
            other => return Err(unknown(ctx, &what, other, &["content", "filename", "contentType"])),
        }
        Ok(())
    })?;
    let content = content.ok_or_else(|| wrong(ctx, &format!("{what}: a part needs its `content`: a string, bytes or a file")))?;
    if content_type.as_ref().is_some_and(|content_type: &String| content_type.contains(['\r', '\n'])) {
        return Err(wrong(ctx, &format!("{what}.contentType: contains a line break")));
    }
    if let Some(file) = FileHandle::of(&content) {
        let file = file.borrow();
        let (filename, content_type) =
            (filename.as_deref().unwrap_or(file.file_name()), content_type.as_deref().unwrap_or(file.content_type()));
        return Ok(parts.part(name, Some(filename), Some(content_type), file.content().bytes()));
    }
    let default_type = if content.is_string() { None } else { Some(BYTES_TYPE) };
    let bytes = bytes_of(&content);
    let bytes = bytes.ok_or_else(|| wrong(ctx, &format!("{what}.content: expected a string, bytes (Uint8Array) or a file")))?;
    Ok(parts.part(name, filename.as_deref(), content_type.as_deref().or(default_type), &bytes.into()))
}
