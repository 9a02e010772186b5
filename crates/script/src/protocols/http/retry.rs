//! Retries of failed requests. Off, unless the script asks for them.
//!
//! Each attempt is a request with its own times and outcome: the first under the request's name, the others under `NAME retry`. No time contains another
//! attempt, or the wait before it. An attempt that is retried counts as failed, but does not fail its iteration.

use std::future::poll_fn;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome, Tags};
use loadstone_protocol::http::{Hop, Hops};

use super::conclude::{ExpectedResponse, answer, sample};
use super::retry_policy::RetryPolicy;
use super::trace::{TracedEnd, trace};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// The last attempt of a request.
pub(super) struct RetriedRequest {
    pub(super) step: MeasuredStep,
    pub(super) expected: ExpectedResponse,
    pub(super) hops: Box<Hops>,
    pub(super) attempts: u32,
}

/// Sends a request until it passes, fails for another cause, or has used its attempts. `send` performs one attempt.
pub(super) async fn retry(
    user: Rc<UserState>,
    mut step: MeasuredStep,
    expected: ExpectedResponse,
    (policy, tags): (RetryPolicy, Tags),
    send: impl AsyncFn(&MeasuredStep) -> Box<Hops>,
) -> RetriedRequest {
    // The iteration does not end between two attempts.
    let _pending = step.in_flight(&user);
    let name = format!("{} retry", step.name(&user));
    let mut wait_ns = policy.wait_ns;
    let mut attempts = 1;
    loop {
        let hops = send(&step).await;
        let failed = failed(&hops, &expected).filter(|(outcome, status, _)| attempts <= policy.times && policy.applies(*outcome, *status));
        let Some((outcome, _, error)) = failed else { return RetriedRequest { step, expected, hops, attempts } };
        record(&user, &step, &hops, outcome, &error);
        wait(&user, wait_ns).await;
        wait_ns = wait_ns.saturating_mul(2);
        step = step.with_name(&user, &name).with_tags(&user, &tags);
        // It is due when it is sent.
        step.due = None;
        attempts += 1;
    }
}

/// Outcome, status and message of an attempt that has no expected status.
fn failed(hops: &Hops, expected: &ExpectedResponse) -> Option<(Outcome, u16, String)> {
    match &hops.last.exchange.result {
        Err(failure) => Some((failure.outcome, 0, failure.message.clone())),
        Ok(response) => expected.judge_status(response.status).map(|(outcome, message)| (outcome, response.status, message)),
    }
}

fn record(user: &UserState, step: &MeasuredStep, hops: &Hops, outcome: Outcome, error: &str) {
    let Hops { last: Hop { request, exchange }, before } = hops;
    let sample = sample(exchange, before, step.due, outcome);
    step.record_retried(user, &sample, error, exchange.response().map(|response| move || answer(user, response)));
    if user.worker.sinks.exchanges.is_some() {
        let end = TracedEnd { request: Some(request), exchange, outcome, error: Some(error), expectations: Vec::new() };
        trace(user, &step.name(user), before, end);
    }
}

async fn wait(user: &UserState, ns: Nanos) {
    let timer = user.worker.clock.timer();
    timer.reset(user.now().saturating_add(ns));
    poll_fn(|context| timer.poll_due(context)).await;
}
