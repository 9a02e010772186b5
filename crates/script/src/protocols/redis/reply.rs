//! The reply object of a script. Its value is created when the script reads it.

use bytes::Bytes;
use loadstone_metrics::Sample;
use loadstone_protocol::redis::RedisReplies;
use rquickjs::class::Trace;
use rquickjs::{Ctx, JsLifetime, Object, Value};

use super::value;
use crate::protocols::http::response::times;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "RedisReply")]
pub(crate) struct RedisReplyObject {
    /// `None`: there was no answer.
    #[qjs(skip_trace)]
    pub(super) bytes: Option<Bytes>,
    #[qjs(skip_trace)]
    pub(super) sample: Sample,
    #[qjs(skip_trace)]
    pub(super) error: Option<String>,
    #[qjs(skip_trace)]
    pub(super) as_bytes: bool,
    #[qjs(skip_trace)]
    pub(super) is_single: bool,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl RedisReplyObject {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.error.is_none()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.error.clone()
    }

    #[qjs(get)]
    fn value<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match &self.bytes {
            None => Ok(Value::new_undefined(ctx)),
            Some(bytes) if self.is_single => value::single(&ctx, bytes, self.as_bytes),
            Some(bytes) => value::all(&ctx, RedisReplies::of(bytes), self.as_bytes),
        }
    }

    #[qjs(get)]
    fn times<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        times(&ctx, &self.sample)
    }
}
