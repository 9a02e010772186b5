//! The end of a produce request: it is judged, recorded, shown and returned to the script.

use std::rc::Rc;

use loadstone_protocol::kafka::{KafkaClient, KafkaExchange, KafkaProblem};
use rquickjs::{Class, Ctx, Value};

use super::result::KafkaResultObject;
use super::shown;
use crate::protocols::raw_exchange::StepEnd;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// The state of records in progress.
pub(super) struct IssuedRecords {
    pub(super) step: MeasuredStep,
    pub(super) client: Rc<KafkaClient>,
    pub(super) shown: Option<String>,
}

/// Judges and records the result of a produce request and creates its object.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedRecords,
    exchange: KafkaExchange,
) -> rquickjs::Result<Value<'js>> {
    let IssuedRecords { step, client, shown } = issued;
    let KafkaExchange { times, result } = exchange;
    let refused = if let Err(KafkaProblem::Refused(refusal)) = &result { Some((refusal.name(), refusal.text())) } else { None };
    let end = match (&result, &refused) {
        (Err(KafkaProblem::Failed(failure)), _) => StepEnd::failed(failure),
        (_, Some((name, text))) => StepEnd::refused(name, text.as_bytes()),
        _ => StepEnd::passed(),
    };
    let sample = end.record(user, &step, &times);
    if let Some(shown) = shown {
        let answer = result.as_ref().ok().map(|places| shown::places(places)).or(refused.as_ref().map(|(_, text)| text.clone()));
        end.show(user, &step, &times, ("KAFKA", client.address().shown(), shown.into_bytes()), answer.map(String::into_bytes));
    }
    Class::instance(ctx.clone(), KafkaResultObject { result, sample }).map(Class::into_value)
}
