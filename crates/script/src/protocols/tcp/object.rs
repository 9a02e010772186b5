//! The connection object of a script.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::Opt;
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::connection::UserConnection;
use super::steps;

/// A TCP connection of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "TcpConnection")]
pub(crate) struct TcpObject {
    #[qjs(skip_trace)]
    pub(super) connection: Rc<UserConnection>,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl TcpObject {
    #[qjs(get)]
    fn open(&self) -> bool {
        self.connection.is_open()
    }

    #[qjs(get)]
    fn error(&self) -> Option<String> {
        self.connection.error()
    }

    fn write<'js>(&self, ctx: Ctx<'js>, data: Value<'js>) -> rquickjs::Result<Promise<'js>> {
        steps::write(&ctx, &self.connection, &data)
    }

    fn read<'js>(&self, ctx: Ctx<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        steps::read(&ctx, &self.connection, options.0.as_ref())
    }

    fn request<'js>(&self, ctx: Ctx<'js>, data: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        steps::request(&ctx, &self.connection, &data, options.0.as_ref())
    }

    fn close(&self) {
        self.connection.close();
    }
}
