//! The response object. It stores the response as received, and decodes it when the script reads it.

use std::cell::Cell;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Sample, SeriesId};
use loadstone_protocol::http::{self, Exchange, Request};
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, IntoJs, JsLifetime, Object, TypedArray, Value};

use super::calls::PreparedCall;
use crate::body::BodyReader;
use crate::charset::text_of;
use crate::fields::object_of;
use crate::runtime::worker::WorkerState;

#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Response")]
pub(crate) struct ResponseObject {
    #[qjs(skip_trace)]
    worker: Rc<WorkerState>,
    #[qjs(skip_trace)]
    series: SeriesId,
    #[qjs(skip_trace)]
    request: SentRequest,
    #[qjs(skip_trace)]
    exchange: Box<Exchange>,
    attempts: u32,
    #[qjs(skip_trace)]
    sample: Sample,
    error: Option<String>,
    /// The credentials in the body were learnt.
    #[qjs(skip_trace)]
    is_learnt: Cell<bool>,
}

/// A request with its exchange.
pub(super) struct SentResponse {
    pub(super) request: SentRequest,
    pub(super) exchange: Box<Exchange>,
    /// How often it was sent.
    pub(super) attempts: u32,
}

/// The request that it answers.
pub(super) enum SentRequest {
    Prepared(Rc<PreparedCall>),
    Own(Rc<Request>),
}

impl SentRequest {
    pub(super) fn request(&self) -> &Request {
        match self {
            SentRequest::Prepared(prepared) => prepared.wire.request(),
            SentRequest::Own(request) => request,
        }
    }
}

impl ResponseObject {
    pub(super) fn new(
        worker: Rc<WorkerState>,
        series: SeriesId,
        SentResponse { request, exchange, attempts }: SentResponse,
        sample: Sample,
        error: Option<String>,
    ) -> Self {
        Self { worker, series, request, exchange, attempts, sample, error, is_learnt: Cell::new(false) }
    }

    fn response(&self) -> Option<&http::Response> {
        self.exchange.response()
    }

    fn body(&self) -> &[u8] {
        self.response().map_or(&[], |response| &response.body)
    }

    /// The body for the script, which may show what it reads.
    fn read_body(&self) -> &[u8] {
        if !self.is_learnt.replace(true) {
            self.worker.learnt.of_fields(&self.worker.loaded.plan.secrets, self.body());
        }
        self.body()
    }

    fn body_text(&self) -> std::borrow::Cow<'_, str> {
        text_of(self.read_body(), || self.response().and_then(|response| response.headers.get("content-type")))
    }

    /// `"Create ticket" answered 200`, for messages.
    fn described(&self) -> String {
        let name = self.worker.recorder.borrow().key(self.series).name.clone();
        match self.response() {
            Some(response) => format!("\"{name}\" answered {}", response.status),
            None => format!("\"{name}\" got no response ({})", self.error.as_deref().unwrap_or("unknown")),
        }
    }

    fn reading<T>(&self, read: impl FnOnce(&BodyReader<'_>) -> T) -> T {
        let described = || self.described();
        let content_type = || self.response().and_then(|response| response.headers.get("content-type"));
        read(&BodyReader { bytes: self.read_body(), content_type: &content_type, compiled: &self.worker.compiled, described: &described })
    }

    /// When the request was due.
    pub(super) fn due(&self) -> Nanos {
        self.sample.scheduled
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl ResponseObject {
    #[qjs(get)]
    fn ok(&self) -> bool {
        self.error.is_none()
    }

    #[qjs(get)]
    fn status(&self) -> u32 {
        u32::from(self.sample.status)
    }

    #[qjs(get)]
    fn error<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
        match &self.error {
            Some(error) => error.as_str().into_js(&ctx),
            None => Ok(Value::new_undefined(ctx)),
        }
    }

    #[qjs(get)]
    fn attempts(&self) -> u32 {
        self.attempts
    }

    #[qjs(get)]
    fn url(&self) -> String {
        self.request.request().url().map(String::from).unwrap_or_default()
    }

    #[qjs(get)]
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        fields(&ctx, self.response().map(|response| &response.headers))
    }

    #[qjs(get)]
    fn trailers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        fields(&ctx, self.response().map(|response| &response.trailers))
    }

    fn header<'js>(&self, ctx: Ctx<'js>, name: String) -> rquickjs::Result<Value<'js>> {
        match self.response().and_then(|response| response.headers.get(&name.to_ascii_lowercase())) {
            Some(value) => value.into_js(&ctx),
            None => Ok(Value::new_undefined(ctx)),
        }
    }

    #[qjs(get)]
    fn text<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<rquickjs::String<'js>> {
        rquickjs::String::from_str(ctx, &self.body_text())
    }

    #[qjs(get)]
    fn bytes<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<TypedArray<'js, u8>> {
        TypedArray::new_copy(ctx, self.read_body())
    }

    #[qjs(get)]
    fn times<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        times(&ctx, &self.sample)
    }

    fn json<'js>(&self, ctx: Ctx<'js>, path: Opt<Value<'js>>, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json(&ctx, path, fallback))
    }

    fn json_all<'js>(&self, ctx: Ctx<'js>, path: String) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.json_all(&ctx, &path))
    }

    fn css<'js>(
        &self,
        ctx: Ctx<'js>,
        selector: String,
        options: Opt<Option<Object<'js>>>,
        fallback: Opt<Value<'js>>,
    ) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.css(&ctx, &selector, options.0.flatten(), fallback))
    }

    fn css_all<'js>(&self, ctx: Ctx<'js>, selector: String, options: Opt<Option<Object<'js>>>) -> rquickjs::Result<Vec<String>> {
        self.reading(|body| body.css_all(&ctx, &selector, options.0.flatten()))
    }

    fn xpath<'js>(&self, ctx: Ctx<'js>, expression: String, fallback: Opt<Value<'js>>) -> rquickjs::Result<Value<'js>> {
        self.reading(|body| body.xpath(&ctx, &expression, fallback))
    }

    fn xpath_all(&self, ctx: Ctx<'_>, expression: String) -> rquickjs::Result<Vec<String>> {
        self.reading(|body| body.xpath_all(&ctx, &expression))
    }

    /// For messages of code in TypeScript.
    fn description(&self) -> String {
        self.described()
    }
}

/// Header lines as an object, names in lower case; lines of one name are joined.
pub(in crate::protocols) fn fields<'js>(ctx: &Ctx<'js>, lines: Option<&http::Headers>) -> rquickjs::Result<Object<'js>> {
    object_of(ctx, lines.into_iter().flat_map(http::Headers::iter))
}

/// The phases of a request, in milliseconds.
pub(in crate::protocols) fn times<'js>(ctx: &Ctx<'js>, sample: &Sample) -> rquickjs::Result<Object<'js>> {
    let times = Object::new(ctx.clone())?;
    let phases = &sample.phases;
    for (name, ns) in [
        ("queue", phases.queue),
        ("dns", phases.dns),
        ("connect", phases.connect),
        ("tls", phases.tls),
        ("wait", phases.wait),
        ("body", phases.body),
        ("total", sample.service_ns()),
    ] {
        times.set(name, ns as f64 / 1e6)?;
    }
    Ok(times)
}
