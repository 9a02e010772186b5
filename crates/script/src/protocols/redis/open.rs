//! `user.redis(…)`: names a server. It is connected to by the first command.

use std::rc::Rc;

use protocol::redis::RedisAddress;
use rquickjs::{Class, Ctx, Value};

use super::object::RedisObject;
use super::options::RedisOptions;
use super::state::{RedisHandle, RedisUser};
use crate::protocols::options::{text, wrong};
use crate::runtime::object::UserObject;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.redis(url, options)`.
pub(super) struct OpenRedis;

impl Verb for OpenRedis {
    const NAME: &'static str = "redis";
    const ARGUMENTS: usize = 2;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let options = RedisOptions::read(ctx, &arguments.get(1))?;
        let url = text(ctx, &arguments.get(0), "the URL of the Redis server")?;
        let address = RedisAddress::parse(&url).map_err(|problem| wrong(ctx, &format!("the URL of the Redis server: {problem}")))?;
        let client = RedisUser::client(&user.state, RedisAddress { resp3: options.resp3, ..address });
        let timeout_ns = options.timeout_ns.unwrap_or(user.state.scenario.timeout_ns);
        let handle = RedisHandle { user: Rc::clone(&user.state), group: user.inside.clone(), client, timeout_ns };
        Class::instance(ctx.clone(), RedisObject { handle }).map(Class::into_value)
    }
}
