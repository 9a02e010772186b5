//! Common parts of raw TCP, Redis, SQL and Kafka: how a step ended, recorded and shown. Read [`StepEnd`].

use std::fmt::Display;

use loadstone_metrics::{FailureSample, Outcome, Sample};
use loadstone_protocol::Failure;
use loadstone_protocol::raw::RawTimes;

use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::{TracedExchange, TracedRequest, TracedResponse};

/// How a step ended.
pub(super) struct StepEnd<'a> {
    outcome: Outcome,
    /// As it is counted: equal causes have equal strings.
    pub(super) error: Option<String>,
    /// The server's error message, if it refused.
    refusal: Option<&'a [u8]>,
}

impl<'a> StepEnd<'a> {
    pub(super) fn passed() -> Self {
        Self { outcome: Outcome::Passed, error: None, refusal: None }
    }

    pub(super) fn failed(failure: &Failure) -> Self {
        Self { outcome: failure.outcome, error: Some(failure.message.clone()), refusal: None }
    }

    /// Passed, or failed.
    pub(super) fn of<T>(result: &Result<T, Failure>) -> Self {
        result.as_ref().err().map_or_else(Self::passed, Self::failed)
    }

    /// The server answered with an error. Its messages differ from case to case, so errors are grouped by the code.
    pub(super) fn refused(code: impl Display, refusal: &'a [u8]) -> Self {
        Self { outcome: Outcome::Status, error: Some(format!("error {code}")), refusal: Some(refusal) }
    }

    pub(super) fn record(&self, user: &UserState, step: &MeasuredStep, times: &RawTimes) -> Sample {
        let mut sample = step.sample(times.started, times.ended, self.outcome);
        sample.phases = times.phases;
        (sample.bytes_sent, sample.bytes_received) = (times.bytes_sent, times.bytes_received);
        match (&self.error, self.refusal) {
            (Some(error), Some(refusal)) => step.record_failed(user, &sample, error, || FailureSample::new(0, std::iter::empty(), refusal)),
            (error, _) => step.record(user, &sample, error.as_deref()),
        }
        sample
    }

    /// Shows the exchange. `method`: the word before the address. `answer`: `None` if there was none.
    pub(super) fn show(
        &self,
        user: &UserState,
        step: &MeasuredStep,
        times: &RawTimes,
        (method, address, body): (&str, String, Vec<u8>),
        answer: Option<Vec<u8>>,
    ) {
        let Some(sink) = &user.worker.sinks.exchanges else { return };
        let answered = |body| TracedResponse { status: 0, fields: Vec::new(), body, bytes_received: times.bytes_received };
        sink(&TracedExchange {
            scenario: &user.scenario.name,
            user: user.number,
            name: &step.name(user),
            outcome: self.outcome,
            error: self.error.as_deref(),
            expectations: Vec::new(),
            request: TracedRequest { method: method.to_owned(), address, body, ..TracedRequest::default() },
            response: answer.map(answered),
            service_ns: times.ended.saturating_sub(times.started),
            phases: times.phases,
            connected: times.connected,
        });
    }
}
