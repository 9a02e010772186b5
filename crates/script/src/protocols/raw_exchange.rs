//! What raw TCP, Redis, SQL and Kafka have in common: times as a sample, and an exchange as it is shown.

use metrics::{Outcome, Sample};
use protocol::raw::RawTimes;

use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::{TracedExchange, TracedRequest, TracedResponse};

pub(super) fn sample(step: &MeasuredStep, times: &RawTimes, outcome: Outcome) -> Sample {
    let mut sample = step.sample(times.started, times.ended, outcome);
    sample.phases = times.phases;
    (sample.bytes_sent, sample.bytes_received) = (times.bytes_sent, times.bytes_received);
    sample
}

/// How an exchange ended.
pub(super) struct ShownEnd<'a> {
    pub(super) outcome: Outcome,
    pub(super) error: Option<&'a str>,
    /// `None`: there was no answer.
    pub(super) answer: Option<Vec<u8>>,
}

/// Shows an exchange to whoever follows every step.
pub(super) fn show(user: &UserState, step: &MeasuredStep, times: &RawTimes, request: TracedRequest, end: ShownEnd<'_>) {
    let Some(sink) = &user.worker.sinks.exchanges else { return };
    let answered = |body| TracedResponse { status: 0, fields: Vec::new(), body, bytes_received: times.bytes_received };
    sink(&TracedExchange {
        scenario: &user.scenario.name,
        user: user.number,
        name: &step.name(user),
        outcome: end.outcome,
        error: end.error,
        expectations: Vec::new(),
        request,
        response: end.answer.map(answered),
        service_ns: times.ended.saturating_sub(times.started),
        phases: times.phases,
        connected: times.connected,
    });
}
