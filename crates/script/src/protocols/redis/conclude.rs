//! The end of commands: they are judged, recorded, shown and returned to the script.

use std::rc::Rc;

use loadstone_protocol::redis::{RedisClient, RedisExchange, RedisPart, RedisReplies, error_code};
use rquickjs::{Class, Ctx, Value};

use super::reply::RedisReplyObject;
use super::value;
use crate::protocols::raw_exchange::StepEnd;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// The state of commands in progress.
pub(super) struct IssuedCommands {
    pub(super) step: MeasuredStep,
    pub(super) client: Rc<RedisClient>,
    pub(super) shown: Option<String>,
    pub(super) as_bytes: bool,
    /// A single command: its reply is the value. Otherwise the value is a list of replies.
    pub(super) is_single: bool,
}

/// Judges and records commands and creates the object of their reply.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedCommands,
    exchange: RedisExchange,
) -> rquickjs::Result<Value<'js>> {
    let IssuedCommands { step, client, shown, as_bytes, is_single } = issued;
    let RedisExchange { times, result } = exchange;
    // In the reply to EXEC, errors are within a list.
    let refused = result
        .as_ref()
        .ok()
        .and_then(|bytes| RedisReplies::of(bytes).find_map(|part| if let RedisPart::Error(error) = part { Some(error) } else { None }));
    let end = refused.map_or_else(|| StepEnd::of(&result), |error| StepEnd::refused(error_code(error), error));
    let sample = end.record(user, &step, &times);
    if let Some(shown) = shown {
        let answer = result.as_ref().ok().map(|bytes| value::shown(bytes).into_bytes());
        end.show(user, &step, &times, ("REDIS", client.address().shown(), shown.into_bytes()), answer);
    }
    let error = refused.map(|error| String::from_utf8_lossy(error).into_owned()).or(end.error);
    let reply = RedisReplyObject { bytes: result.ok(), sample, error, as_bytes, is_single };
    Class::instance(ctx.clone(), reply).map(Class::into_value)
}
