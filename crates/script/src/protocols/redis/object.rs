//! The object through which a script sends commands.

use rquickjs::class::Trace;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::command;
use super::state::RedisHandle;

/// A Redis server, for one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Redis")]
pub(crate) struct RedisObject {
    #[qjs(skip_trace)]
    pub(super) handle: RedisHandle,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl RedisObject {
    fn command<'js>(&self, ctx: Ctx<'js>, arguments: Rest<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        command::command(&ctx, &self.handle, &arguments.0)
    }

    fn pipeline<'js>(&self, ctx: Ctx<'js>, commands: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        command::pipeline(&ctx, &self.handle, &commands, options.0.as_ref())
    }
}
