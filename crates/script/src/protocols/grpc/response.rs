//! The response object of a unary call. Its message is decoded when the script asks for it.

use std::cell::OnceCell;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Sample, SeriesId};
use loadstone_protocol::grpc::{GrpcReply, UnaryCall, trailers_of};
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, JsLifetime, Object, Value};

use super::json::decode;
use super::methods::GrpcMethod;
use crate::body::BodyReader;
use crate::protocols::http::response::{fields, times};
use crate::runtime::worker::WorkerState;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "GrpcResponse")]
pub(crate) struct GrpcResponseObject {
    #[qjs(skip_trace)]
    worker: Rc<WorkerState>,
    #[qjs(skip_trace)]
    series: SeriesId,
    #[qjs(skip_trace)]
    method: Rc<GrpcMethod>,
    #[qjs(skip_trace)]
    call: Box<UnaryCall>,
    #[qjs(skip_trace)]
    sample: Sample,
    error: Option<String>,
    /// The message as JSON, or why it cannot be decoded. Empty if none was received.
    #[qjs(skip_trace)]
    json: OnceCell<Result<String, String>>,
}

impl GrpcResponseObject {
    pub(super) fn new(
        worker: Rc<WorkerState>,
        series: SeriesId,
        method: Rc<GrpcMethod>,
        call: Box<UnaryCall>,
        sample: Sample,
        error: Option<String>,
    ) -> Self {
        Self { worker, series, method, call, sample, error, json: OnceCell::new() }
    }

    fn reply(&self) -> Option<&GrpcReply> {
        self.call.reply.as_ref().ok()
    }

    fn body(&self, ctx: &Ctx<'_>) -> rquickjs::Result<&str> {
        let json = self.json.get_or_init(|| match self.reply().and_then(|reply| reply.message.clone()) {
            Some(message) => decode(&self.method.output, message),
            None => Ok(String::new()),
        });
        json.as_deref().map_err(|problem| Exception::throw_message(ctx, &format!("{}: {problem}", self.described())))
    }

    /// `"Shop/Buy" answered NOT_FOUND`, for messages.
    fn described(&self) -> String {
        let name = self.worker.recorder.borrow().key(self.series).name.clone();
        match (&self.call.reply, &self.error) {
            (Ok(reply), _) => format!("\"{name}\" answered {}", reply.status),
            (Err(failure), _) => format!("\"{name}\" got no answer ({})", failure.message),
        }
    }

    fn reading<T>(&self, ctx: &Ctx<'_>, read: impl FnOnce(&BodyReader<'_>) -> rquickjs::Result<T>) -> rquickjs::Result<T> {
        let bytes = self.body(ctx)?.as_bytes();
        let described = || self.described();
        read(&BodyReader { bytes, content_type: &|| None, compiled: &self.worker.compiled, described: &described })
    }

    /// When the call was due.
    pub(super) fn due(&self) -> Nanos {
        self.sample.scheduled
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl GrpcResponseObject {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.error.is_none()
    }

    #[qjs(get)]
    fn status(&self) -> Option<&'static str> {
        self.reply().map(|reply| reply.status.name())
    }

    #[qjs(get)]
    fn details(&self) -> String {
        self.reply().map(|reply| reply.details.clone()).unwrap_or_default()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.error.clone()
    }

    #[qjs(get)]
    fn message<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match self.body(&ctx)? {
            "" => Ok(Value::new_undefined(ctx)),
            json => ctx.json_parse(json),
        }
    }

    #[qjs(get)]
    fn metadata<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let response = self.call.exchange.response();
        fields(&ctx, response.map(|response| &response.headers))
    }

    #[qjs(get)]
    fn trailers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let response = self.call.exchange.response();
        fields(&ctx, response.map(|response| trailers_of(&response.headers, &response.trailers)))
    }

    #[qjs(get)]
    fn text(&self, ctx: Ctx<'_>) -> rquickjs::Result<String> {
        self.body(&ctx).map(str::to_owned)
    }

    #[qjs(get)]
    fn times<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        times(&ctx, &self.sample)
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(&ctx, |body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(&ctx, |body| body.json_all(&ctx, &path))
    }

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}
