//! The message object of a script.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_protocol::ws::Payload;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, TypedArray, Value};

use super::inbox::{ArrivedMessage, EventLabels};
use crate::body::BodyReader;
use crate::runtime::worker::WorkerState;

/// A message, or why there is none.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Message")]
pub(crate) struct MessageObject {
    #[qjs(skip_trace)]
    worker: Rc<WorkerState>,
    /// The name of the step that waited for it, or the channel's.
    #[qjs(skip_trace)]
    name: Arc<str>,
    /// `Err`: why, as text.
    #[qjs(skip_trace)]
    content: Result<ArrivedMessage, String>,
}

impl MessageObject {
    pub(in crate::protocols) fn new(worker: &Rc<WorkerState>, name: &Arc<str>, content: Result<ArrivedMessage, String>) -> Self {
        Self { worker: Rc::clone(worker), name: Arc::clone(name), content }
    }

    fn body(&self) -> &[u8] {
        match &self.content {
            Ok(ArrivedMessage { payload: Payload::Text(text), .. }) => text.as_bytes(),
            Ok(ArrivedMessage { payload: Payload::Binary(bytes), .. }) => bytes,
            Err(_) => &[],
        }
    }

    pub(in crate::protocols) fn body_text(&self) -> Cow<'_, str> {
        match &self.content {
            Ok(ArrivedMessage { payload: Payload::Text(text), .. }) => Cow::Borrowed(text),
            _ => String::from_utf8_lossy(self.body()),
        }
    }

    fn labels(&self) -> Option<&EventLabels> {
        self.content.as_ref().ok()?.labels.as_deref()
    }

    fn described(&self) -> String {
        match &self.content {
            Ok(_) => format!("the message of \"{}\"", self.name),
            Err(error) => format!("\"{}\" got no message ({error})", self.name),
        }
    }

    /// The text that scripts extract values from.
    fn read<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        read(&BodyReader { bytes: self.body(), content_type: &|| None, compiled: &self.worker.compiled, described: &|| self.described() })
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl MessageObject {
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

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
