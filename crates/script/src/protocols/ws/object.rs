//! The socket object of a script.

use std::cell::Cell;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, JsLifetime, Object, Promise, Value};

use super::connection::UserSocket;
use super::steps;
use crate::protocols::http::opening::OpeningAnswer;
use crate::protocols::messages::{closing, receive, sending};

/// Longest reason of a close frame (RFC 6455, section 5.5): 125 bytes less the code.
const REASON_BYTES_MAX: usize = 123;

/// A WebSocket of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Socket")]
pub(crate) struct WebSocketObject {
    #[qjs(skip_trace)]
    socket: UserSocket,
    /// The negotiated sub-protocol.
    #[qjs(skip_trace)]
    protocol: String,
    #[qjs(skip_trace)]
    answer: OpeningAnswer,
    /// Pings sent so far.
    #[qjs(skip_trace)]
    pings: Cell<u64>,
}

impl WebSocketObject {
    pub(super) fn new(socket: UserSocket, protocol: String, answer: OpeningAnswer) -> Self {
        Self { socket, protocol, answer, pings: Cell::default() }
    }
}

fn check_close(ctx: &Ctx<'_>, code: f64, reason: &str) -> rquickjs::Result<()> {
    // RFC 6455, section 7.4: the codes that an application may send.
    if code.fract() != 0.0 || !(code == 1000.0 || (3000.0..=4999.0).contains(&code)) {
        return Err(Exception::throw_range(ctx, &format!("close({code}): the close code must be 1000, or from 3000 to 4999")));
    }
    if reason.len() > REASON_BYTES_MAX {
        return Err(Exception::throw_range(ctx, "close(…): the reason must be at most 123 bytes"));
    }
    Ok(())
}

#[rquickjs::methods(rename_all = "camelCase")]
impl WebSocketObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.socket.channel.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.socket.channel.loss()
    }

    #[qjs(get)]
    fn protocol(&self) -> String {
        self.protocol.clone()
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

    #[qjs(get)]
    fn closed<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::closed(&ctx, &self.socket.channel)
    }

    fn send<'js>(&self, ctx: Ctx<'js>, message: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        sending::send(&ctx, &self.socket, &message, options.0.as_ref())
    }

    fn request<'js>(&self, ctx: Ctx<'js>, message: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        sending::request(&ctx, &self.socket, &message, options.0.as_ref())
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        receive::receive(&ctx, &self.socket.channel, options.0.as_ref())
    }

    /// For the TypeScript of `messages`.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        receive::next(&ctx, &self.socket.channel)
    }

    fn ping<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        self.pings.set(self.pings.get() + 1);
        steps::ping(&ctx, &self.socket, self.pings.get(), options.0.as_ref())
    }

    fn close<'js>(&self, ctx: Ctx<'js>, code: Opt<Option<f64>>, reason: Opt<Option<String>>) -> rquickjs::Result<Promise<'js>> {
        let (code, reason) = (code.0.flatten().unwrap_or(1000.0), reason.0.flatten().unwrap_or_default());
        sending::refusing(&ctx, &self.socket.channel, None, || None, || check_close(&ctx, code, &reason))?;
        closing::close(&ctx, &self.socket.channel, code as u16, &reason)
    }
}
