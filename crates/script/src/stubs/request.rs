//! The request object that a function of a stub is given.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Object, TypedArray, Value};

use crate::body::BodyReader;
use crate::extract::cache::Compiled;
use crate::fields::object_of;

/// Names and values.
pub(super) fn fields_of(lines: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    lines.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "StubRequest")]
pub(super) struct StubRequestObject {
    #[qjs(skip_trace)]
    request: loadstone_stub::StubRequest,
    #[qjs(skip_trace)]
    route: Rc<str>,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
}

impl StubRequestObject {
    pub(super) fn new(request: loadstone_stub::StubRequest, route: Rc<str>, compiled: Rc<RefCell<Compiled>>) -> Self {
        Self { request, route, compiled }
    }

    fn described(&self) -> String {
        format!("a request to \"{}\"", self.route)
    }

    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let described = || self.described();
        let content_type = || self.request.header("content-type");
        read(&BodyReader { bytes: &self.request.body, content_type: &content_type, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl StubRequestObject {
    #[qjs(get)]
    fn method(&self) -> String {
        self.request.method.clone()
    }

    #[qjs(get)]
    fn path(&self) -> String {
        self.request.path.clone()
    }

    #[qjs(get)]
    fn route(&self) -> String {
        self.route.to_string()
    }

    #[qjs(get)]
    fn parameters<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx)?;
        for (name, value) in &self.request.parameters {
            object.set(name.as_str(), value.as_str())?;
        }
        Ok(object)
    }

    #[qjs(get)]
    fn query<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx)?;
        for (name, value) in url::form_urlencoded::parse(self.request.query.as_bytes()) {
            // The first of several, like `URLSearchParams.get`.
            if !object.contains_key(&*name)? {
                object.set(&*name, &*value)?;
            }
        }
        Ok(object)
    }

    #[qjs(get)]
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        object_of(&ctx, fields_of(&self.request.headers))
    }

    fn header(&self, name: String) -> Option<String> {
        self.request.header(&name).map(str::to_owned)
    }

    #[qjs(get)]
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &String::from_utf8_lossy(&self.request.body))
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, &self.request.body)
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json_all(&ctx, &path))
    }

    /// For messages of what is written in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
