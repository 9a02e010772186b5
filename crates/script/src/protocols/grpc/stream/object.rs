//! The stream object of a script.

use loadstone_protocol::grpc::GrpcStatus;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Object, Promise, Value};

use super::running::StreamHandle;
use super::steps;
use crate::protocols::http::response::fields;
use crate::protocols::messages::{closing, receive};

/// An open call of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "GrpcStream")]
pub(crate) struct GrpcStreamObject {
    #[qjs(skip_trace)]
    pub(super) stream: StreamHandle,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl GrpcStreamObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.stream.channel.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.stream.channel.loss()
    }

    #[qjs(get)]
    fn status(&self) -> Option<&'static str> {
        self.stream.ending.status.get().map(GrpcStatus::name)
    }

    #[qjs(get)]
    fn metadata<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        fields(&ctx, Some(&self.stream.ending.metadata.borrow()))
    }

    /// Number of messages sent so far.
    #[qjs(get)]
    fn sent(&self) -> f64 {
        self.stream.ending.sent.get() as f64
    }

    /// Number of messages received so far.
    #[qjs(get)]
    fn received(&self) -> f64 {
        self.stream.channel.number_next() as f64
    }

    #[qjs(get)]
    fn closed<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::closed(&ctx, &self.stream)
    }

    fn send<'js>(&self, ctx: Ctx<'js>, message: Value<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::send(&ctx, &self.stream, &message)
    }

    fn end<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::end(&ctx, &self.stream)
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        receive::receive(&ctx, &self.stream.channel, options.0.as_ref())
    }

    /// For the TypeScript of `messages`.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        receive::next(&ctx, &self.stream.channel)
    }

    fn cancel<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        closing::close(&ctx, &self.stream.channel, 1000, "")
    }
}
