//! The socket object of a script.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, Exception, JsLifetime, Promise, Value};

use super::cell::SocketCell;
use super::step;

/// Longest reason of a close frame (RFC 6455, section 5.5): 125 bytes less the code.
const REASON_BYTES_MAX: usize = 123;

/// A WebSocket of one user.
#[rquickjs::class]
pub(crate) struct Socket {
    cell: Rc<SocketCell>,
}

impl<'js> Trace<'js> for Socket {
    fn trace<'a>(&self, _: rquickjs::class::Tracer<'a, 'js>) {}
}

// SAFETY: it holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Socket {
    type Changed<'to> = Socket;
}

impl Socket {
    pub(super) fn new(cell: Rc<SocketCell>) -> Self {
        Self { cell }
    }
}

#[rquickjs::methods(rename_all = "camelCase")]
impl Socket {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.cell.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.cell.loss()
    }

    #[qjs(get)]
    fn protocol(&self) -> String {
        self.cell.identity.protocol.clone()
    }

    #[qjs(get)]
    fn closed<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        step::closed(&ctx, &self.cell)
    }

    fn send<'js>(&self, ctx: Ctx<'js>, message: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        step::send_message(&ctx, &self.cell, &message, options.0.as_ref())
    }

    fn request<'js>(&self, ctx: Ctx<'js>, message: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        step::request(&ctx, &self.cell, &message, options.0.as_ref())
    }

    fn receive<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        step::receive(&ctx, &self.cell, options.0.as_ref())
    }

    /// For `messages`, which is TypeScript.
    fn next<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Promise<'js>> {
        step::next(&ctx, &self.cell)
    }

    fn ping<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        step::ping(&ctx, &self.cell, options.0.as_ref())
    }

    fn close<'js>(&self, ctx: Ctx<'js>, code: Opt<Option<f64>>, reason: Opt<Option<String>>) -> rquickjs::Result<Promise<'js>> {
        let code = code.0.flatten().unwrap_or(1000.0);
        // RFC 6455, section 7.4: what an application may send.
        if code.fract() != 0.0 || !(code == 1000.0 || (3000.0..=4999.0).contains(&code)) {
            return Err(Exception::throw_range(&ctx, &format!("close({code}): a close code is 1000, or from 3000 to 4999")));
        }
        let reason = reason.0.flatten().unwrap_or_default();
        if reason.len() > REASON_BYTES_MAX {
            return Err(Exception::throw_range(&ctx, "close(…): a reason has at most 123 bytes"));
        }
        step::close(&ctx, &self.cell, code as u16, &reason)
    }
}
