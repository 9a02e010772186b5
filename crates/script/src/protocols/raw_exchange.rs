//! What raw TCP, Redis, SQL and Kafka have in common: how a step ended, recorded and shown. Read [`StepEnd`].

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
    /// As it is counted: the same for whatever has the same cause.
    pub(super) error: Option<String>,
    /// What the server said, where it refused.
    said: Option<&'a [u8]>,
}

impl<'a> StepEnd<'a> {
    pub(super) fn passed() -> Self {
        Self { outcome: Outcome::Passed, error: None, said: None }
    }

    pub(super) fn failed(failure: &Failure) -> Self {
        Self { outcome: failure.outcome, error: Some(failure.message.clone()), said: None }
    }

    /// Passed, or failed.
    pub(super) fn of<T>(result: &Result<T, Failure>) -> Self {
        result.as_ref().err().map_or_else(Self::passed, Self::failed)
    }

    /// The server answered with an error. Its texts differ from case to case; the code tells them apart.
    pub(super) fn refused(code: impl Display, said: &'a [u8]) -> Self {
        Self { outcome: Outcome::Status, error: Some(format!("error {code}")), said: Some(said) }
    }

    pub(super) fn record(&self, user: &UserState, step: &MeasuredStep, times: &RawTimes) -> Sample {
        let mut sample = step.sample(times.started, times.ended, self.outcome);
        sample.phases = times.phases;
        (sample.bytes_sent, sample.bytes_received) = (times.bytes_sent, times.bytes_received);
        match (&self.error, self.said) {
            (Some(error), Some(said)) => step.record_failed(user, &sample, error, || FailureSample::new(0, std::iter::empty(), said)),
            (error, _) => step.record(user, &sample, error.as_deref()),
        }
        sample
    }

    /// Shows the exchange to whoever follows every step. `method`: what stands before the address; `answer`: `None` where there was none.
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
