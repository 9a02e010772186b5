//! The end of a unary call: its result is judged, recorded, shown and returned to the script.

use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{ErrorCause, ErrorText, FailureSample, Outcome};
use loadstone_protocol::grpc::{GrpcReply, GrpcRequest, GrpcStatus, PreparedGrpcCall, UnaryCall};
use loadstone_protocol::http::{Headers, Response};
use rquickjs::{Class, Ctx, Value};

use super::build::address;
use super::expect::GrpcExpectation;
use super::json::decode;
use super::methods::GrpcMethod;
use super::response::GrpcResponseObject;
use crate::protocols::http::conclude::{sample, traced};
use crate::protocols::http::expect::Judgement;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::{TracedExchange, TracedExpectation, TracedRequest, TracedResponse};

/// The state of a call in progress, for the record when it ends.
pub(super) struct IssuedCall {
    pub(super) step: MeasuredStep,
    pub(super) method: Rc<GrpcMethod>,
    pub(super) expect: GrpcExpectation,
    /// The request with its message as JSON, if the exchange is shown.
    pub(super) followed: Option<(Rc<PreparedGrpcCall>, String)>,
}

/// Judges and records a call and creates the object of its response.
///
/// # Errors
/// Only what a function or pattern of the script's `expect` throws.
pub(super) fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    issued: IssuedCall,
    call: Box<UnaryCall>,
) -> rquickjs::Result<Value<'js>> {
    let IssuedCall { step, method, expect, followed } = issued;
    let mut expectations = Vec::new();
    let as_json = || answer(&method, &call);
    let judgement: rquickjs::Result<Judgement> = match &call.reply {
        Err(failure) => Ok(Some((failure.outcome, failure.message.clone()))),
        Ok(reply) if followed.is_some() => expect.examine(ctx, reply.status, &call.exchange, &as_json).map(|parts| {
            let missed = parts.iter().find_map(|part| part.judgement.clone());
            expectations.extend(parts.into_iter().map(traced));
            missed
        }),
        Ok(reply) => expect.judge(ctx, reply.status, &call.exchange, &as_json),
    };
    // The call is recorded even when the script's expectation throws.
    let (outcome, error) = match &judgement {
        Ok(None) => (Outcome::Passed, None),
        Ok(Some((outcome, error))) => (*outcome, Some(error.as_str())),
        Err(_) => (Outcome::Script, Some("the expectation threw")),
    };
    let sample = sample(&call.exchange, &[], step.due, outcome);
    match (error, call.exchange.response()) {
        (Some(message), Some(response)) => {
            step.record_failed(user, &sample, error_text(message, outcome, call.reply.as_ref().ok().map(|reply| reply.status)), || {
                let Response { status, headers, trailers, body: _ } = response;
                FailureSample::new(*status, fields(headers, trailers), &as_json().body)
            })
        }
        (error, _) => step.record(user, &sample, error),
    }
    if let Some((request, message)) = followed {
        show(user, &step, request.request(), message, &call, &as_json, (outcome, error), expectations);
    }
    let error = judgement?.map(|(_, error)| error);
    let response = GrpcResponseObject::new(Rc::clone(&user.worker), step.series, method, call, sample, error);
    Class::instance(ctx.clone(), response).map(Class::into_value)
}

/// Of a call that ended with this status, if any. An expectation on something else may have failed, whatever the status.
pub(super) fn error_text(message: &str, outcome: Outcome, status: Option<GrpcStatus>) -> ErrorText<'_> {
    let is_exhausted = outcome == Outcome::Status && status == Some(GrpcStatus::RESOURCE_EXHAUSTED);
    ErrorText { message, cause: is_exhausted.then_some(ErrorCause::ResourceExhausted) }
}

/// The response with its message as JSON, for expectations and the shown exchange. Without a message, its body is empty.
fn answer(method: &GrpcMethod, call: &UnaryCall) -> Response {
    let (headers, trailers, status) = match call.exchange.response() {
        Some(response) => (&response.headers, &response.trailers, response.status),
        None => (&Headers::default(), &Headers::default(), 0),
    };
    let body = match &call.reply {
        Ok(GrpcReply { message: Some(message), .. }) => decode(&method.output, message.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    Response { status, headers: fields(headers, trailers).collect(), body: Bytes::from(body), trailers: Headers::default() }
}

/// Leading and trailing metadata.
fn fields<'a>(headers: &'a Headers, trailers: &'a Headers) -> impl Iterator<Item = (&'a str, &'a str)> {
    headers.iter().chain(trailers.iter())
}

#[expect(clippy::too_many_arguments, reason = "all parts of a call's result")]
fn show(
    user: &UserState,
    step: &MeasuredStep,
    request: &GrpcRequest,
    message: String,
    call: &UnaryCall,
    as_json: &dyn Fn() -> Response,
    (outcome, error): (Outcome, Option<&str>),
    expectations: Vec<TracedExpectation>,
) {
    let Some(sink) = &user.worker.sinks.exchanges else { return };
    let exchange = &call.exchange;
    let answered = as_json();
    let fields = |headers: &Headers| headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let request = TracedRequest {
        method: "GRPC".to_owned(),
        address: address(request),
        fields: request.metadata.clone(),
        body: message.into_bytes(),
    };
    let response = exchange.response().map(|response| TracedResponse {
        status: response.status,
        fields: fields(&answered.headers),
        body: answered.body.to_vec(),
        bytes_received: exchange.bytes_received,
    });
    sink(&TracedExchange {
        scenario: &user.scenario.name,
        user: user.number,
        name: &step.name(user),
        outcome,
        error,
        expectations,
        request,
        response,
        service_ns: exchange.ended.saturating_sub(exchange.started),
        phases: exchange.phases,
        connected: exchange.connected,
    });
}
