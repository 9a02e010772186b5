//! The opening requests of WebSockets and event streams, measured and shown like other requests.

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Exchange, Hop, Request};

use super::conclude::{answer, sample};
use super::trace::{TracedEnd, trace};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// Why the connection is not open, as text.
pub(in crate::protocols) type OpeningRefusal = (Outcome, String);

/// Records an opening with the redirects before it. `refused`: why the connection is not open, which fails the step. The shown exchange has
/// all of them; the last one only if its request was stored.
pub(in crate::protocols) fn record(
    step: &MeasuredStep,
    user: &UserState,
    (request, exchange): (Option<&Request>, &Exchange),
    before: &[Hop],
    refused: Option<&OpeningRefusal>,
) {
    let outcome = refused.map_or(Outcome::Passed, |(outcome, _)| *outcome);
    let error = refused.map(|(_, message)| message.as_str());
    let sample = sample(exchange, before, step.due, outcome);
    match (error, &exchange.result) {
        (Some(error), Ok(response)) => step.record_failed(user, &sample, error, || answer(response)),
        (error, _) => step.record(user, &sample, error),
    }
    if user.worker.sinks.exchanges.is_some() {
        trace(user, &step.name(user), before, TracedEnd { request, exchange, outcome, error, expectations: Vec::new() });
    }
}
