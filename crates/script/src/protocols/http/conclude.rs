//! The end of a request: its response is judged, recorded, traced and returned to the script.

use std::rc::Rc;

use loadstone_metrics::{FailureSample, Nanos, Outcome, Sample};
use loadstone_protocol::http::{Exchange, Hop, Hops, Response};
use rquickjs::{Class, Ctx, Exception, Value};

use super::calls::PreparedCall;
use super::expect::{Expectation, JudgedPart, Judgement, examine_one, judge_one};
use super::response::{ResponseObject, SentRequest, SentResponse};
use super::state::HttpRealm;
use super::trace::{TracedEnd, trace};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::TracedExpectation;

/// How a request was sent.
pub(super) enum SentExchange {
    /// As prepared, without a redirect.
    Prepared(Box<Exchange>),
    Hops(Box<Hops>),
}

/// The expectation on a response.
pub(super) enum ExpectedResponse {
    /// One status. 0: any below 400.
    Status(u16),
    Full(Box<Expectation>),
}

impl ExpectedResponse {
    /// Checks the status alone.
    pub(super) fn judge_status(&self, status: u16) -> Judgement {
        match self {
            Self::Status(expected) => judge_one(*expected, status),
            Self::Full(expectation) => expectation.judge_status(status),
        }
    }
}

/// The state of a request in progress, for the record when it ends.
pub(super) struct IssuedRequest {
    pub(super) step: MeasuredStep,
    pub(super) expected: ExpectedResponse,
    /// The request, if it was sent as prepared.
    pub(super) prepared: Option<Rc<PreparedCall>>,
    /// How often it was sent.
    pub(super) attempts: u32,
}

/// Judges and records a response and creates its object.
///
/// # Errors
/// Only what a function or pattern of the script's `expect` throws.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedRequest,
    sent: SentExchange,
) -> rquickjs::Result<Value<'js>> {
    let IssuedRequest { step, expected, prepared, attempts } = issued;
    let (request, exchange, before) = match (sent, prepared) {
        (SentExchange::Prepared(exchange), Some(prepared)) => (SentRequest::Prepared(prepared), exchange, Vec::new()),
        (SentExchange::Hops(hops), _) => {
            let Hops { last: Hop { request, exchange }, before } = *hops;
            (SentRequest::Own(request), Box::new(exchange), before)
        }
        (SentExchange::Prepared(_), None) => {
            return Err(Exception::throw_internal(ctx, "an unprepared request was sent as prepared"));
        }
    };
    let is_followed = user.worker.sinks.exchanges.is_some();
    learn(user, before.iter().map(|hop| &hop.exchange).chain([&*exchange]), is_followed);
    let mut parts = Vec::new();
    let judgement: rquickjs::Result<Judgement> = match (&exchange.result, &expected) {
        (Err(failure), _) => Ok(Some((failure.outcome, failure.message.clone()))),
        (Ok(response), expected) if is_followed => examine(ctx, expected, &exchange, response).map(|examined| {
            parts = examined;
            parts.iter().find_map(|part| part.judgement.clone())
        }),
        (Ok(response), ExpectedResponse::Status(expected)) => Ok(judge_one(*expected, response.status)),
        (Ok(response), ExpectedResponse::Full(expectation)) => expectation.judge(ctx, &exchange, response),
    };
    // The request is recorded even when the script's expectation throws.
    let (outcome, error) = match &judgement {
        Ok(None) => (Outcome::Passed, None),
        Ok(Some((outcome, error))) => (*outcome, Some(error.as_str())),
        Err(_) => (Outcome::Script, Some("the expectation threw")),
    };
    let sample = sample(&exchange, &before, step.due, outcome);
    match (error, exchange.response()) {
        (Some(error), Some(response)) => step.record_failed(user, &sample, error, || answer(user, response)),
        (error, _) => step.record(user, &sample, error),
    }
    if is_followed {
        let expectations = parts.into_iter().map(traced).collect();
        let end = TracedEnd { request: Some(request.request()), exchange: &exchange, outcome, error, expectations };
        trace(user, &step.name(user), &before, end);
    }
    let error = judgement?.map(|(_, error)| error);
    let response = ResponseObject::new(Rc::clone(&user.worker), step.series, SentResponse { request, exchange, attempts }, sample, error);
    let realm = user.realm(ctx)?;
    let prototype = realm.parts.get::<HttpRealm>().response_prototype.clone().restore(ctx)?;
    Class::instance_proto(response, prototype).map(Class::into_value)
}

fn examine(ctx: &Ctx<'_>, expected: &ExpectedResponse, exchange: &Exchange, response: &Response) -> rquickjs::Result<Vec<JudgedPart>> {
    match expected {
        ExpectedResponse::Status(expected) => Ok(examine_one(*expected, response.status).into_iter().collect()),
        ExpectedResponse::Full(expectation) => expectation.examine(ctx, exchange, response),
    }
}

pub(in crate::protocols) fn traced(part: JudgedPart) -> TracedExpectation {
    TracedExpectation { wanted: part.wanted, found: part.found, holds: part.judgement.is_none() }
}

/// Learns the cookies that responses set; of responses that are shown, all credentials.
fn learn<'a>(user: &UserState, exchanges: impl Iterator<Item = &'a Exchange>, are_shown: bool) {
    let (learnt, secrets) = (&user.worker.learnt, &user.worker.loaded.plan.secrets);
    for response in exchanges.filter_map(Exchange::response) {
        if are_shown {
            learnt.of_response(secrets, response.headers.iter(), &response.body);
        } else if response.headers.sets_cookies() {
            learnt.of_cookies(secrets, response.headers.all("set-cookie"));
        }
    }
}

/// The part of the answer that is kept for a failed request.
pub(super) fn answer(user: &UserState, response: &Response) -> FailureSample {
    user.worker.learnt.of_response(&user.worker.loaded.plan.secrets, response.headers.iter(), &response.body);
    FailureSample::new(response.status, response.headers.iter(), &response.body)
}

/// One sample for a request with all its redirects.
pub(in crate::protocols) fn sample(last: &Exchange, before: &[Hop], due: Option<Nanos>, outcome: Outcome) -> Sample {
    let mut sample = Sample {
        scheduled: due.unwrap_or(last.started),
        started: last.started,
        ended: last.ended,
        phases: last.phases,
        outcome,
        status: last.response().map_or(0, |response| response.status),
        bytes_sent: last.bytes_sent,
        bytes_received: last.bytes_received,
        retried: last.retried,
        trace: last.trace.as_ref().map(|parent| parent.trace),
    };
    if let Some(first) = before.first() {
        sample.started = first.exchange.started;
        sample.scheduled = due.unwrap_or(sample.started);
        for hop in before {
            sample.phases += hop.exchange.phases;
            sample.bytes_sent += hop.exchange.bytes_sent;
            sample.retried += hop.exchange.retried;
            sample.bytes_received += hop.exchange.bytes_received;
        }
    }
    sample
}
