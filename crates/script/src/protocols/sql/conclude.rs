//! The end of a statement: it is judged, recorded, shown and returned to the script.

use std::rc::Rc;

use loadstone_metrics::Sample;
use loadstone_protocol::sql::SqlExchange;
use rquickjs::{Class, Ctx, Value};

use super::result::SqlResultObject;
use super::state::{SqlFailure, SqlHandle};
use super::value;
use crate::protocols::raw_exchange::StepEnd;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// The state of a statement in progress.
pub(super) struct IssuedStatement {
    pub(super) step: MeasuredStep,
    pub(super) on: SqlHandle,
    pub(super) shown: Option<String>,
    pub(super) arrays: bool,
    pub(super) timeout_ns: u64,
}

/// Judges and records a statement and creates the object of its result.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedStatement,
    exchange: SqlExchange,
) -> rquickjs::Result<Value<'js>> {
    let (sample, failure) = judge(user, &issued, &exchange);
    if let (Some(failure), Some(transaction)) = (&failure, &issued.on.within) {
        transaction.note(failure);
    }
    let result = SqlResultObject { answer: exchange.result.unwrap_or_default(), sample, failure, arrays: issued.arrays };
    Class::instance(ctx.clone(), result).map(Class::into_value)
}

/// Judges, records and shows a statement.
pub(super) fn judge(user: &UserState, issued: &IssuedStatement, exchange: &SqlExchange) -> (Sample, Option<SqlFailure>) {
    let SqlExchange { times, result } = exchange;
    let step = &issued.step;
    let refusal = result.as_ref().ok().and_then(|answer| answer.refusal.as_ref());
    let end = refusal.map_or_else(|| StepEnd::of(result), |refusal| StepEnd::refused(&refusal.code, refusal.text.as_bytes()));
    let sample = end.record(user, step, times);
    if let Some(shown) = &issued.shown {
        let answer = result.as_ref().ok().map(|answer| value::answer_shown(answer).into_bytes());
        end.show(user, step, times, ("SQL", issued.on.client.address().shown(), shown.clone().into_bytes()), answer);
    }
    let failure = match refusal {
        Some(refusal) => Some(SqlFailure { error: refusal.text.clone(), code: Some(refusal.code.clone()) }),
        None => end.error.map(|error| SqlFailure { error, code: None }),
    };
    (sample, failure)
}
