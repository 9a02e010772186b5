//! The request object that the function of a TCP stub is given.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, TypedArray, Value};

use crate::body::BodyReader;
use crate::extract::cache::Compiled;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "TcpRequest")]
pub(super) struct TcpRequestObject {
    #[qjs(skip_trace)]
    request: loadstone_stub::StubRequest,
    #[qjs(skip_trace)]
    compiled: Rc<RefCell<Compiled>>,
}

impl TcpRequestObject {
    pub(super) fn new(request: loadstone_stub::StubRequest, compiled: Rc<RefCell<Compiled>>) -> Self {
        Self { request, compiled }
    }

    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let (described, content_type) = (|| self.description(), || None);
        read(&BodyReader { bytes: &self.request.body, content_type: &content_type, compiled: &self.compiled, described: &described })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl TcpRequestObject {
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
        "a request to the TCP stub".to_owned()
    }
}
