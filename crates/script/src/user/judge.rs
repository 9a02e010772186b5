//! What becomes of an answer: judged, recorded, traced, handed to the script.

use std::rc::Rc;

use metrics::{Nanos, Outcome, Phases, Sample};
use protocol::http::{Exchange, Hop, Hops, Request};
use rquickjs::{Class, Ctx, Exception, Object};

use super::expect::{Verdict, judge_one};
use super::request::{Expected, Issued};
use super::response::{Asked, Response};
use crate::crew::cell::UserCell;
use crate::crew::op::Done;
use crate::crew::sinks::Traced;

/// Judges and records an answer and makes the response object, by the realm's prototype of responses.
///
/// # Errors
/// Only what a function or pattern of the script's `expect` throws.
pub(crate) fn conclude<'js>(
    ctx: &Ctx<'js>,
    prototype: Object<'js>,
    user: &Rc<UserCell>,
    issued: Issued,
    done: Done,
) -> rquickjs::Result<Object<'js>> {
    let (asked, exchange, before) = match (done, &issued.prepared) {
        (Done::Plain(exchange), Some(prepared)) => (Asked::Prepared(Rc::clone(prepared)), exchange, Vec::new()),
        (Done::Hops(hops), _) => {
            let Hops { last: Hop { request, exchange }, before } = *hops;
            (Asked::Own(Box::new(request)), Box::new(exchange), before)
        }
        (Done::Waited | Done::Plain(_) | Done::Socket(_), _) => {
            return Err(Exception::throw_internal(ctx, "a request ended as something else"));
        }
    };
    let verdict: rquickjs::Result<Verdict> = match (&exchange.result, &issued.expected) {
        (Err(failure), _) => Ok(Some((failure.outcome, failure.message.clone()))),
        (Ok(response), Expected::Status(expected)) => Ok(judge_one(*expected, response.status)),
        (Ok(response), Expected::Full(expect)) => expect.judge(ctx, &exchange, response),
    };
    // The request is recorded even when the script's own judgement throws.
    let (outcome, error) = match &verdict {
        Ok(None) => (Outcome::Passed, None),
        Ok(Some((outcome, error))) => (*outcome, Some(error.as_str())),
        Err(_) => (Outcome::Expect, Some("the expectation threw")),
    };
    let sample = sample(&exchange, &before, issued.due, outcome);
    let desk = &user.desk;
    {
        let mut recorder = desk.recorder.borrow_mut();
        recorder.record(issued.series, &sample);
        if let Some(error) = error {
            recorder.failed(issued.series, &sample, error);
        }
    }
    if outcome.is_failure() {
        user.note_failure(issued.epoch, issued.group.as_ref());
    }
    if desk.sinks.trace.is_some() {
        trace(user, &issued, (asked.request(), &exchange), &before, outcome, error);
    }
    let error = verdict?.map(|(_, error)| error);
    let response = Response::new(Rc::clone(desk), issued.series, asked, exchange, sample, error);
    Class::instance_proto(response, prototype).map(Class::into_inner)
}

/// One sample for a request with all its redirects.
pub(super) fn sample(last: &Exchange, before: &[Hop], due: Option<Nanos>, outcome: Outcome) -> Sample {
    let mut sample = Sample {
        scheduled: due.unwrap_or(last.started),
        started: last.started,
        ended: last.ended,
        phases: last.phases,
        outcome,
        status: last.result.as_ref().map_or(0, |response| response.status),
        bytes_sent: last.bytes_sent,
        bytes_received: last.bytes_received,
        trace: last.trace.as_ref().map(|parent| parent.trace),
    };
    if let Some(first) = before.first() {
        sample.started = first.exchange.started;
        sample.scheduled = due.unwrap_or(sample.started);
        for hop in before {
            sample.phases = sum(sample.phases, hop.exchange.phases);
            sample.bytes_sent += hop.exchange.bytes_sent;
            sample.bytes_received += hop.exchange.bytes_received;
        }
    }
    sample
}

fn sum(a: Phases, b: Phases) -> Phases {
    Phases { dns: a.dns + b.dns, connect: a.connect + b.connect, tls: a.tls + b.tls, wait: a.wait + b.wait, body: a.body + b.body }
}

fn trace(user: &UserCell, issued: &Issued, last: (&Request, &Exchange), before: &[Hop], outcome: Outcome, error: Option<&str>) {
    let Some(trace) = &user.desk.sinks.trace else { return };
    let name = user.desk.recorder.borrow().key(issued.series).name.clone();
    let show = |(request, exchange): (&Request, &Exchange), outcome: Outcome, error: Option<&str>| {
        trace(&Traced { scenario: &user.card.name, user: user.number, name: &name, request, exchange, outcome, error });
    };
    before.iter().for_each(|hop| show((&hop.request, &hop.exchange), Outcome::Passed, None));
    show(last, outcome, error);
}
