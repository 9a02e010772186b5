//! What becomes of a step on a socket: recorded, and told to the script.

use std::sync::Arc;

use metrics::{Nanos, Outcome, Phases, Sample};
use protocol::Failure;
use protocol::ws::{Payload, SendTimes};
use rquickjs::{Class, Ctx, IntoJs, Object, Value};

use super::cell::SocketCell;
use super::ear::Heard;
use super::issue::Issue;
use super::matcher::{Matcher, THREW};
use super::message::Message;
use super::step::{Happened, Pending, Step, Waiting, go_on, hear};
use super::{events, open};
use crate::realm::thrown;

/// What is left to do for a promise.
enum Told<'js> {
    With(Value<'js>),
    /// The wait goes on.
    Nothing(Pending, Box<Waiting>),
}

/// Tells the script what became of a step.
pub(crate) fn settle<'js>(ctx: &Ctx<'js>, mut pending: Pending, happened: Happened) -> rquickjs::Result<()> {
    let (resolve, reject) = (pending.resolve.clone(), pending.reject.clone());
    let undefined = || Value::new_undefined(ctx.clone());
    let told = match (std::mem::replace(&mut pending.step, Step::Next), happened) {
        (Step::Listen(asked), Happened::Listening(opening)) => {
            events::conclude(ctx, *asked, *opening).and_then(|events| events.into_js(ctx)).map(Told::With)
        }
        (Step::Open(asked), Happened::Opened(opening)) => {
            open::conclude(ctx, *asked, *opening).and_then(|socket| socket.into_js(ctx)).map(Told::With)
        }
        (Step::Send { cell, issue }, Happened::Sent(sent)) => {
            sent_message(&cell, issue.as_ref(), sent);
            Ok(Told::With(undefined()))
        }
        (Step::Message { issue, matcher }, happened) => answered(ctx, pending, issue, matcher, happened),
        (Step::Next, Happened::Heard(waiting, Heard::Message(number), _)) => match waiting.ear.cell().take(number) {
            Some(message) => {
                let cell = waiting.ear.cell();
                let object = Message::new(&cell.identity.user.desk, &cell.identity.name, Ok(message));
                Class::instance(ctx.clone(), object).and_then(|message| turn(ctx, Some(message))).map(Told::With)
            }
            None => Ok(Told::Nothing(pending, Box::new(waiting))),
        },
        (Step::Next, _) => turn(ctx, None).map(Told::With),
        (Step::Ping { issue }, happened) => Ok(Told::With(Value::new_bool(ctx.clone(), ponged(issue.as_ref(), happened)))),
        (Step::Closed { cell }, _) => closing(ctx, &cell).map(Told::With),
        _ => Ok(Told::With(undefined())),
    };
    match told {
        Ok(Told::With(value)) => resolve.restore(ctx)?.call((value,)),
        Ok(Told::Nothing(pending, waiting)) => {
            let cell = std::rc::Rc::clone(waiting.ear.cell());
            go_on(&cell, pending, Box::pin(hear(*waiting)));
            Ok(())
        }
        Err(error) => reject.restore(ctx)?.call((thrown(ctx, error),)),
    }
}

/// What an iterator's `next` gives.
fn turn<'js>(ctx: &Ctx<'js>, message: Option<Class<'js, Message>>) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("done", message.is_none())?;
    object.set("value", message)?;
    Ok(object.into_value())
}

fn closing<'js>(ctx: &Ctx<'js>, cell: &SocketCell) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    if let Some(end) = cell.end() {
        object.set("code", end.code)?;
        object.set("reason", end.reason)?;
    }
    Ok(object.into_value())
}

fn sent_message(cell: &SocketCell, issue: Option<&Issue>, sent: Result<SendTimes, Failure>) {
    let now = cell.identity.user.desk.clock.now();
    match sent {
        Ok(sent) => {
            if let Some(issue) = issue {
                let times = Times { began: sent.started, sent: None, ended: sent.ended };
                record(cell, issue, times, (sent.bytes, 0), None);
            }
        }
        Err(failure) => failed(cell, issue, Times { began: now, sent: None, ended: now }, &failure),
    }
}

/// `true`: the pong came in time.
fn ponged(issue: Option<&Issue>, happened: Happened) -> bool {
    let (waiting, outcome) = match happened {
        Happened::Heard(waiting, heard, at) => (waiting, Ok((heard, at))),
        Happened::Failed(waiting, failure, at) => (waiting, Err((failure, at))),
        _ => return false,
    };
    let mut waiting = waiting;
    let cell = std::rc::Rc::clone(waiting.ear.cell());
    let mut lost = false;
    let (failure, at) = match outcome {
        Ok((Heard::Pong(at), _)) => {
            land(&mut waiting, at);
            if let Some(issue) = issue {
                let bytes = waiting.sent.map_or(0, |sent| sent.bytes);
                record(&cell, issue, Times::of(&waiting, at), (bytes, bytes.saturating_sub(4)), None);
            }
            return true;
        }
        Ok((Heard::Late, at)) => {
            lost = true;
            let message = format!("no pong came within {}: the connection is lost", units::duration::format(waiting.within_ns));
            (Failure { outcome: Outcome::Timeout, message }, at)
        }
        Ok((_, at)) => (ended(&cell), at),
        Err((failure, at)) => (failure, at),
    };
    land(&mut waiting, at);
    failed(&cell, issue, Times::of(&waiting, at), &failure);
    if lost {
        // Still in the list of those who wait, so that the loss is counted once.
        cell.give_up(&failure.message);
    }
    false
}

fn ended(cell: &SocketCell) -> Failure {
    let (outcome, message) = cell.end().map_or((Outcome::Closed, "the WebSocket is closed".to_owned()), |end| (end.outcome, end.message));
    Failure { outcome, message }
}

fn answered<'js>(
    ctx: &Ctx<'js>,
    mut pending: Pending,
    issue: Option<Issue>,
    matcher: Matcher,
    happened: Happened,
) -> rquickjs::Result<Told<'js>> {
    let (mut waiting, failure, at) = match happened {
        Happened::Heard(waiting, Heard::Message(number), _) => {
            return match pick(ctx, &waiting, issue.as_ref(), &matcher, number) {
                Ok(Some((message, at, bytes))) => {
                    let mut waiting = waiting;
                    let ended = at.max(waiting.began);
                    land(&mut waiting, ended);
                    if let Some(issue) = &issue {
                        let sent = waiting.sent.map_or(0, |sent| sent.bytes);
                        record(waiting.ear.cell(), issue, Times::of(&waiting, ended), (sent, bytes), None);
                    }
                    message.into_js(ctx).map(Told::With)
                }
                Ok(None) => {
                    pending.step = Step::Message { issue, matcher };
                    Ok(Told::Nothing(pending, Box::new(waiting)))
                }
                Err(error) => {
                    let mut waiting = waiting;
                    let now = waiting.ear.cell().identity.user.desk.clock.now();
                    land(&mut waiting, now);
                    let failure = Failure { outcome: THREW.0, message: THREW.1.to_owned() };
                    failed(waiting.ear.cell(), issue.as_ref(), Times::of(&waiting, now), &failure);
                    Err(error)
                }
            };
        }
        Happened::Heard(waiting, Heard::Late, at) => {
            let message = format!("{} came within {}", matcher.wanted(ctx), units::duration::format(waiting.within_ns));
            (waiting, Failure { outcome: Outcome::Timeout, message }, at)
        }
        Happened::Heard(waiting, _, at) => {
            let failure = ended(waiting.ear.cell());
            (waiting, failure, at)
        }
        Happened::Failed(waiting, failure, at) => (waiting, failure, at),
        _ => return Ok(Told::With(Value::new_undefined(ctx.clone()))),
    };
    land(&mut waiting, at);
    let cell = waiting.ear.cell();
    if issue.is_some() {
        failed(cell, issue.as_ref(), Times::of(&waiting, at), &failure);
    }
    let name = issue.as_ref().map_or(&cell.identity.name, |issue| &issue.name);
    let object = Message::new(&cell.identity.user.desk, name, Err(failure.message));
    Class::instance(ctx.clone(), object)?.into_js(ctx).map(Told::With)
}

/// A message, when its last byte was read, and its size.
type Picked<'js> = (Class<'js, Message>, Nanos, u64);

/// The first message from `number` on that is the one; the others stay where they are.
fn pick<'js>(
    ctx: &Ctx<'js>,
    waiting: &Waiting,
    issue: Option<&Issue>,
    matcher: &Matcher,
    number: u64,
) -> rquickjs::Result<Option<Picked<'js>>> {
    let cell = waiting.ear.cell();
    let name: &Arc<str> = issue.map_or(&cell.identity.name, |issue| &issue.name);
    let mut candidate = Some(number);
    while let Some(number) = candidate {
        // Another who waits may have taken it in the meantime.
        if let Some(message) = cell.take(number) {
            let kept = message.clone();
            let at = message.at;
            let bytes = match &message.payload {
                Payload::Text(text) => text.len(),
                Payload::Binary(bytes) => bytes.len(),
            };
            let object = Class::instance(ctx.clone(), Message::new(&cell.identity.user.desk, name, Ok(message)))?;
            if matcher.accepts(ctx, &object)? {
                return Ok(Some((object, at, bytes as u64)));
            }
            cell.put_back(number, kept);
        }
        waiting.ear.listen_from(number + 1);
        candidate = cell.candidate(number + 1, matcher.text(), waiting.ear.due());
    }
    cell.forget_unread();
    Ok(None)
}

/// Instants of one step.
struct Times {
    began: Nanos,
    /// The last byte was handed to the kernel.
    sent: Option<Nanos>,
    ended: Nanos,
}

impl Times {
    fn of(waiting: &Waiting, ended: Nanos) -> Self {
        Self { began: waiting.began, sent: waiting.sent.map(|sent| sent.ended), ended }
    }
}

fn land(waiting: &mut Waiting, at: Nanos) {
    if let Some(flight) = &mut waiting.flight {
        flight.land(at);
    }
}

/// Records a step that failed: as a request where it has a name, and in the list of errors.
fn failed(cell: &SocketCell, issue: Option<&Issue>, times: Times, failure: &Failure) {
    match issue {
        Some(issue) => record(cell, issue, times, (0, 0), Some(failure)),
        None => {
            let user = &cell.identity.user;
            user.desk.recorder.borrow_mut().error(cell.identity.series, failure.outcome, times.ended, &failure.message);
            user.note_failure(user.epoch(), user.group().as_ref());
        }
    }
}

fn record(cell: &SocketCell, issue: &Issue, times: Times, bytes: (u64, u64), failure: Option<&Failure>) {
    let user = &cell.identity.user;
    let outcome = failure.map_or(Outcome::Passed, |failure| failure.outcome);
    let sample = Sample {
        scheduled: issue.due.unwrap_or(times.began),
        started: times.began,
        ended: times.ended.max(times.began),
        phases: Phases { wait: times.sent.map_or(0, |sent| times.ended.saturating_sub(sent)), ..Phases::default() },
        outcome,
        status: 0,
        bytes_sent: bytes.0,
        bytes_received: bytes.1,
        trace: None,
    };
    let mut recorder = user.desk.recorder.borrow_mut();
    recorder.record(issue.series, &sample);
    if let Some(failure) = failure {
        recorder.failed(issue.series, &sample, &failure.message);
        drop(recorder);
        user.note_failure(issue.epoch, issue.group.as_ref());
    }
}
