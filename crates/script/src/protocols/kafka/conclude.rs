//! What becomes of records: judged, recorded, shown, handed to the script.

use std::rc::Rc;

use metrics::{FailureSample, Outcome};
use protocol::kafka::{KafkaClient, KafkaExchange, KafkaProblem};
use rquickjs::{Class, Ctx, Value};

use super::result::KafkaResultObject;
use super::shown;
use crate::protocols::raw_exchange::{ShownEnd, sample, show};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::TracedRequest;

/// What is known of records under way.
pub(super) struct IssuedRecords {
    pub(super) step: MeasuredStep,
    pub(super) client: Rc<KafkaClient>,
    pub(super) shown: Option<String>,
}

/// Judges and records what was written and makes the object of its result.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedRecords,
    exchange: KafkaExchange,
) -> rquickjs::Result<Value<'js>> {
    let IssuedRecords { step, client, shown } = issued;
    let KafkaExchange { times, result } = exchange;
    let (outcome, message) = match &result {
        Ok(_) => (Outcome::Passed, None),
        Err(KafkaProblem::Failed(failure)) => (failure.outcome, Some(failure.message.clone())),
        Err(KafkaProblem::Refused(refusal)) => (Outcome::Status, Some(format!("error {}", refusal.name()))),
    };
    let sample = sample(&step, &times, outcome);
    match (&result, &message) {
        (Err(KafkaProblem::Refused(refusal)), Some(message)) => {
            let text = refusal.text();
            step.record_failed(user, &sample, message, || FailureSample::new(0, std::iter::empty(), text.as_bytes()));
        }
        _ => step.record(user, &sample, message.as_deref()),
    }
    if let Some(shown) = shown {
        let request = TracedRequest {
            method: "KAFKA".to_owned(),
            address: client.address().shown(),
            body: shown.into_bytes(),
            ..TracedRequest::default()
        };
        let answer = match &result {
            Ok(places) => Some(shown::places(places)),
            Err(KafkaProblem::Refused(refusal)) => Some(refusal.text()),
            Err(KafkaProblem::Failed(_)) => None,
        };
        let end = ShownEnd { outcome, error: message.as_deref(), answer: answer.map(String::into_bytes) };
        show(user, &step, &times, request, end);
    }
    Class::instance(ctx.clone(), KafkaResultObject { result, sample }).map(Class::into_value)
}
