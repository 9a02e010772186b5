//! What becomes of commands: judged, recorded, shown, handed to the script.

use std::rc::Rc;

use metrics::{FailureSample, Outcome};
use protocol::redis::{RedisClient, RedisExchange, RedisPart, RedisReplies, error_code};
use rquickjs::{Class, Ctx, Value};

use super::reply::RedisReplyObject;
use super::value;
use crate::protocols::raw_exchange::{ShownEnd, sample, show};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::TracedRequest;

/// What is known of commands under way.
pub(super) struct IssuedCommands {
    pub(super) step: MeasuredStep,
    pub(super) client: Rc<RedisClient>,
    pub(super) shown: Option<String>,
    pub(super) as_bytes: bool,
    /// One command, whose reply is the value; otherwise a list of replies is.
    pub(super) is_single: bool,
}

/// Judges and records commands and makes the object of their reply.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedCommands,
    exchange: RedisExchange,
) -> rquickjs::Result<Value<'js>> {
    let IssuedCommands { step, client, shown, as_bytes, is_single } = issued;
    let RedisExchange { times, result } = exchange;
    // In the reply to EXEC they stand within a list.
    let refused = result
        .as_ref()
        .ok()
        .and_then(|bytes| RedisReplies::of(bytes).find_map(|part| if let RedisPart::Error(error) = part { Some(error) } else { None }));
    let (outcome, message) = match (&result, refused) {
        (Err(failure), _) => (failure.outcome, Some(failure.message.clone())),
        (Ok(_), Some(error)) => (Outcome::Status, Some(format!("error {}", error_code(error)))),
        (Ok(_), None) => (Outcome::Passed, None),
    };
    let sample = sample(&step, &times, outcome);
    match (refused, &message) {
        (Some(error), Some(message)) => {
            step.record_failed(user, &sample, message, || FailureSample::new(0, std::iter::empty(), error));
        }
        _ => step.record(user, &sample, message.as_deref()),
    }
    if let Some(shown) = shown {
        let request = TracedRequest {
            method: "REDIS".to_owned(),
            address: client.address().shown(),
            body: shown.into_bytes(),
            ..TracedRequest::default()
        };
        let answer = result.as_ref().ok().map(|bytes| value::shown(bytes).into_bytes());
        show(user, &step, &times, request, ShownEnd { outcome, error: message.as_deref(), answer });
    }
    let error = refused.map(|error| String::from_utf8_lossy(error).into_owned()).or(message);
    let reply = RedisReplyObject { bytes: result.ok(), sample, error, as_bytes, is_single };
    Class::instance(ctx.clone(), reply).map(Class::into_value)
}
