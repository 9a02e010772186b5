//! The message object of a script.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use protocol::ws::Payload;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, JsLifetime, TypedArray, Value};

use crate::crew::desk::Desk;
use crate::extract::ExtractError;
use crate::user::body::to_js;

/// A message, or why there is none.
#[rquickjs::class]
pub(crate) struct Message {
    desk: Rc<Desk>,
    /// The name it was waited for under, or the socket's.
    name: Arc<str>,
    content: Result<Payload, String>,
}

impl<'js> Trace<'js> for Message {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Message {
    type Changed<'to> = Message;
}

impl Message {
    pub(super) fn new(desk: &Rc<Desk>, name: &Arc<str>, content: Result<Payload, String>) -> Self {
        Self { desk: Rc::clone(desk), name: Arc::clone(name), content }
    }

    fn body(&self) -> &[u8] {
        match &self.content {
            Ok(Payload::Text(text)) => text.as_bytes(),
            Ok(Payload::Binary(bytes)) => bytes,
            Err(_) => &[],
        }
    }

    pub(super) fn body_text(&self) -> Cow<'_, str> {
        match &self.content {
            Ok(Payload::Text(text)) => Cow::Borrowed(text),
            _ => String::from_utf8_lossy(self.body()),
        }
    }

    fn described(&self) -> String {
        match &self.content {
            Ok(_) => format!("the message of \"{}\"", self.name),
            Err(error) => format!("\"{}\" got no message ({error})", self.name),
        }
    }

    fn missing<'js>(&self, ctx: &Ctx<'js>, what: &str, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        fallback.0.ok_or_else(|| Exception::throw_message(ctx, &format!("{}: {what}", self.described())))
    }

    fn refused(&self, ctx: &Ctx<'_>, error: &ExtractError) -> rquickjs::Error {
        match error {
            ExtractError::Expression { .. } => Exception::throw_syntax(ctx, &error.to_string()),
            ExtractError::Body(problem) => Exception::throw_message(ctx, &format!("{}: {problem}", self.described())),
        }
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
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &self.body_text())
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, self.body())
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        let Some(path) = path.0.filter(|path| !path.is_undefined()) else {
            return ctx.json_parse(self.body()).map_err(|_| {
                ctx.catch();
                Exception::throw_message(&ctx, &format!("{}: it is not JSON", self.described()))
            });
        };
        let written = path.get::<String>()?;
        let path = self.desk.compiled.borrow_mut().json(&written).map_err(|error| self.refused(&ctx, &error))?;
        match path.first(self.body()) {
            Ok(Some(value)) => to_js(&ctx, value),
            Ok(None) => self.missing(&ctx, &format!("nothing at {written}"), fallback),
            Err(error) if fallback.0.is_none() => Err(self.refused(&ctx, &error)),
            Err(_) => self.missing(&ctx, "", fallback),
        }
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        let path = self.desk.compiled.borrow_mut().json(&path).map_err(|error| self.refused(&ctx, &error))?;
        let all = path.all(self.body()).map_err(|error| self.refused(&ctx, &error))?;
        ctx.json_parse(all)
    }

    /// For messages of what is written in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
