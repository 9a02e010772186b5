//! The socket object of a script.

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::connection::UserDatagrams;
use crate::protocols::messages::{receive, sending};

/// A UDP socket of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "UdpSocket")]
pub(crate) struct UdpObject {
    #[qjs(skip_trace)]
    pub(super) socket: UserDatagrams,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl UdpObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.socket.channel.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.socket.channel.loss()
    }

    /// Number of datagrams received so far.
    #[qjs(get)]
    fn received(&self) -> f64 {
        self.socket.channel.number_next() as f64
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

    fn close(&self) {
        self.socket.channel.begin_closing(1000, "");
    }
}
