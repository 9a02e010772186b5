//! The stream object of a script.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Object, Promise, Value};

use crate::protocols::http::opening::OpeningAnswer;
use crate::protocols::messages::channel::MessageChannel;
use crate::protocols::messages::{closing, receive};

/// A stream of events of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Events")]
pub(crate) struct EventStreamObject {
    #[qjs(skip_trace)]
    channel: Rc<MessageChannel>,
    #[qjs(skip_trace)]
    answer: OpeningAnswer,
}

impl EventStreamObject {
    pub(super) fn new(channel: Rc<MessageChannel>, answer: OpeningAnswer) -> Self {
        Self { channel, answer }
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl EventStreamObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.channel.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.channel.loss()
    }

    /// Of the response to the opening. 0: there was none.
    #[qjs(get)]
    fn status(&self) -> u32 {
        self.answer.status()
    }

    #[qjs(get)]
    fn headers<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        self.answer.headers(&ctx)
    }

    #[qjs(get)]
    fn text(&self) -> String {
        self.answer.text()
    }

    /// Number of events received so far.
    #[qjs(get)]
    fn received(&self) -> f64 {
        self.channel.number_next() as f64
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        receive::receive(&ctx, &self.channel, options.0.as_ref())
    }

    /// For the TypeScript of `messages`.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        receive::next(&ctx, &self.channel)
    }

    fn close<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        closing::close(&ctx, &self.channel, 1000, "")
    }
}
