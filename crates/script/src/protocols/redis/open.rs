//! `user.redis(…)`: names a server. The first command opens the connection.

use std::rc::Rc;

use loadstone_protocol::redis::RedisAddress;
use rquickjs::{Class, Ctx, Value};

use super::object::RedisObject;
use super::options::RedisOptions;
use super::state::RedisHandle;
use crate::known_verbs::AddressOfVerb;
use crate::protocols::clients::UserClients;
use crate::protocols::options::{text, wrong};
use crate::runtime::object::UserObject;
use crate::runtime::verb::{Verb, VerbArguments};

pub(super) static ADDRESS: AddressOfVerb = AddressOfVerb {
    verb: "redis",
    what: "the URL of the Redis server",
    check: |url| RedisAddress::parse(url).map(|_| ()).map_err(|problem| problem.to_string()),
};

/// `user.redis(url, options)`.
pub(super) struct OpenRedis;

impl Verb for OpenRedis {
    const NAME: &'static str = "redis";
    const ARGUMENTS: usize = 2;

    fn refused_name(_: &VerbArguments<'_, '_>) -> Option<String> {
        Some("Redis".to_owned())
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let options = RedisOptions::read(ctx, &arguments.get(1))?;
        let url = text(ctx, &arguments.get(0), ADDRESS.what)?;
        let address = RedisAddress::parse(&url).map_err(|problem| wrong(ctx, &format!("{}: {problem}", ADDRESS.what)))?;
        let client = UserClients::of(&user.state, RedisAddress { resp3: options.resp3, ..address });
        let timeout_ns = options.timeout_ns.unwrap_or(user.state.scenario.timeout_ns);
        let handle = RedisHandle { user: Rc::clone(&user.state), group: user.inside.clone(), client, timeout_ns };
        Class::instance(ctx.clone(), RedisObject { handle }).map(Class::into_value)
    }
}
