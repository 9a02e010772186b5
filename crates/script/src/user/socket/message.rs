//! The message object of a script.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use protocol::ws::Payload;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, TypedArray, Value};

use super::cell::{Arrived, Labels};

use crate::crew::desk::Desk;
use crate::user::body::Body;

/// A message, or why there is none.
#[rquickjs::class]
pub(crate) struct Message {
    desk: Rc<Desk>,
    /// The name it was waited for under, or the socket's.
    name: Arc<str>,
    content: Result<Arrived, String>,
}

impl<'js> Trace<'js> for Message {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Message {
    type Changed<'to> = Message;
}

impl Message {
    pub(super) fn new(desk: &Rc<Desk>, name: &Arc<str>, content: Result<Arrived, String>) -> Self {
        Self { desk: Rc::clone(desk), name: Arc::clone(name), content }
    }

    fn body(&self) -> &[u8] {
        match &self.content {
            Ok(Arrived { payload: Payload::Text(text), .. }) => text.as_bytes(),
            Ok(Arrived { payload: Payload::Binary(bytes), .. }) => bytes,
            Err(_) => &[],
        }
    }

    pub(super) fn body_text(&self) -> Cow<'_, str> {
        match &self.content {
            Ok(Arrived { payload: Payload::Text(text), .. }) => Cow::Borrowed(text),
            _ => String::from_utf8_lossy(self.body()),
        }
    }

    fn labels(&self) -> Option<&Labels> {
        self.content.as_ref().ok()?.labels.as_deref()
    }

    fn described(&self) -> String {
        match &self.content {
            Ok(_) => format!("the message of \"{}\"", self.name),
            Err(error) => format!("\"{}\" got no message ({error})", self.name),
        }
    }

    /// What scripts read values out of.
    fn read<T>(&self, read: impl FnOnce(&Body<'_>) -> T) -> T {
        read(&Body { bytes: self.body(), content_type: &|| None, compiled: &self.desk.compiled, described: &|| self.described() })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl Message {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.content.is_ok()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.content.as_ref().err().cloned()
    }

    #[qjs(get)]
    fn event(&self) -> Option<String> {
        self.labels().map(|labels| labels.event.clone())
    }

    #[qjs(get)]
    fn id(&self) -> Option<String> {
        self.labels().map(|labels| labels.id.clone())
    }

    #[qjs(get)]
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &self.body_text())
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, self.body())
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.read(|body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.read(|body| body.json_all(&ctx, &path))
    }

    /// For messages of what is written in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
