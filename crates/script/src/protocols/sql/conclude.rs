//! What becomes of a statement: judged, recorded, shown, handed to the script.

use std::rc::Rc;

use metrics::{FailureSample, Outcome, Sample};
use protocol::sql::SqlExchange;
use rquickjs::{Class, Ctx, Value};

use super::result::SqlResultObject;
use super::state::{SqlFailure, SqlHandle};
use super::value;
use crate::protocols::raw_exchange::{ShownEnd, sample, show};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::TracedRequest;

/// What is known of a statement under way.
pub(super) struct IssuedStatement {
    pub(super) step: MeasuredStep,
    pub(super) on: SqlHandle,
    pub(super) shown: Option<String>,
    pub(super) arrays: bool,
    pub(super) timeout_ns: u64,
}

/// Judges and records a statement and makes the object of its result.
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
    // Texts differ from case to case; the code tells them apart.
    let (outcome, message, failure) = match result {
        Err(failure) => {
            let error = failure.message.clone();
            (failure.outcome, Some(error.clone()), Some(SqlFailure { error, code: None }))
        }
        Ok(answer) => match &answer.refusal {
            None => (Outcome::Passed, None, None),
            Some(refusal) => {
                let failure = SqlFailure { error: refusal.text.clone(), code: Some(refusal.code.clone()) };
                (Outcome::Status, Some(format!("error {}", refusal.code)), Some(failure))
            }
        },
    };
    let sample = sample(step, times, outcome);
    match (&message, &failure) {
        (Some(message), Some(SqlFailure { error, code: Some(_) })) => {
            step.record_failed(user, &sample, message, || FailureSample::new(0, std::iter::empty(), error.as_bytes()));
        }
        _ => step.record(user, &sample, message.as_deref()),
    }
    if let Some(shown) = &issued.shown {
        let request = TracedRequest {
            method: "SQL".to_owned(),
            address: issued.on.client.address().shown(),
            body: shown.clone().into_bytes(),
            ..TracedRequest::default()
        };
        let answer = result.as_ref().ok().map(|answer| value::answer_shown(answer).into_bytes());
        show(user, step, times, request, ShownEnd { outcome, error: message.as_deref(), answer });
    }
    (sample, failure)
}
