//! The stream object of a script.

use std::rc::{Rc, Weak};

use protocol::grpc::GrpcStatus;
use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Object, Promise, Value};

use super::running::{CallEnding, RunningCall};
use super::steps;
use crate::protocols::grpc::methods::GrpcMethod;
use crate::protocols::http::response::fields;
use crate::protocols::messages::channel::MessageChannel;
use crate::protocols::messages::{closing, receive};

/// A call of one user that goes on.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "GrpcStream")]
pub(crate) struct GrpcStreamObject {
    #[qjs(skip_trace)]
    pub(super) channel: Rc<MessageChannel>,
    /// Weak: the call ends when the channel lets go of it.
    #[qjs(skip_trace)]
    pub(super) call: Weak<RunningCall>,
    #[qjs(skip_trace)]
    pub(super) ending: Rc<CallEnding>,
    #[qjs(skip_trace)]
    pub(super) method: Rc<GrpcMethod>,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl GrpcStreamObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.channel.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.channel.loss()
    }

    #[qjs(get)]
    fn status(&self) -> Option<&'static str> {
        self.ending.status.get().map(GrpcStatus::name)
    }

    #[qjs(get)]
    fn metadata<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        fields(&ctx, Some(&self.ending.metadata.borrow()))
    }

    /// How many have been sent so far.
    #[qjs(get)]
    fn sent(&self) -> f64 {
        self.ending.sent.get() as f64
    }

    /// How many have come so far.
    #[qjs(get)]
    fn received(&self) -> f64 {
        self.channel.number_next() as f64
    }

    #[qjs(get)]
    fn closed<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::closed(&ctx, self)
    }

    fn send<'js>(&self, ctx: Ctx<'js>, message: Value<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::send(&ctx, self, &message)
    }

    fn end<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::end(&ctx, self)
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        receive::receive(&ctx, &self.channel, options.0.as_ref())
    }

    /// For `messages`, which is TypeScript.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        receive::next(&ctx, &self.channel)
    }

    fn cancel<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        closing::close(&ctx, &self.channel, 1000, "")
    }
}
