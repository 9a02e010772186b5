//! The object that a script gives commands to.

use std::rc::Rc;

use protocol::redis::RedisClient;
use rquickjs::class::Trace;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Ctx, JsLifetime, Promise, Value};

use super::command;
use crate::runtime::group::Group;
use crate::runtime::user::UserState;

/// A Redis server as one user has it.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "Redis")]
pub(crate) struct RedisObject {
    #[qjs(skip_trace)]
    pub(super) user: Rc<UserState>,
    /// The group whose function it was made in by that group's user; `None`: whichever group is open.
    #[qjs(skip_trace)]
    pub(super) group: Option<Rc<Group>>,
    #[qjs(skip_trace)]
    pub(super) client: Rc<RedisClient>,
    #[qjs(skip_trace)]
    pub(super) timeout_ns: u64,
}

#[rquickjs::methods(rename_all = "camelCase")]
impl RedisObject {
    fn command<'js>(&self, ctx: Ctx<'js>, arguments: Rest<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        command::command(&ctx, self, &arguments.0)
    }

    fn pipeline<'js>(&self, ctx: Ctx<'js>, commands: Value<'js>, options: Opt<Value<'js>>) -> rquickjs::Result<Promise<'js>> {
        command::pipeline(&ctx, self, &commands, options.0.as_ref())
    }
}
