//! The opening requests of WebSockets and event streams, measured and shown like other requests.

use loadstone_metrics::Outcome;
use loadstone_protocol::http::{Exchange, Hop, Request, Response};
use rquickjs::{Ctx, Object};

use super::conclude::{answer, sample};
use super::response::fields;
use super::trace::{TracedEnd, trace};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// Why the connection is not open, as text.
pub(in crate::protocols) type OpeningRefusal = (Outcome, String);

/// The response to an opening, for the script. It shows why a server refused.
pub(in crate::protocols) struct OpeningAnswer(Option<Box<Response>>);

impl OpeningAnswer {
    pub(in crate::protocols) fn of(exchange: &Exchange) -> Self {
        Self(exchange.response().map(|response| Box::new(response.clone())))
    }

    /// 0: there was no response.
    pub(in crate::protocols) fn status(&self) -> u32 {
        self.0.as_ref().map_or(0, |response| u32::from(response.status))
    }

    pub(in crate::protocols) fn headers<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        fields(ctx, self.0.as_ref().map(|response| &response.headers))
    }

    /// The body of a refusal.
    pub(in crate::protocols) fn text(&self) -> String {
        self.0.as_ref().map(|response| String::from_utf8_lossy(&response.body).into_owned()).unwrap_or_default()
    }
}

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
    match (error, exchange.response()) {
        (Some(error), Some(response)) => step.record_failed(user, &sample, error, || answer(user, response)),
        (error, _) => step.record(user, &sample, error),
    }
    if user.worker.sinks.exchanges.is_some() {
        trace(user, &step.name(user), before, TracedEnd { request, exchange, outcome, error, expectations: Vec::new() });
    }
}
