//! A script's waits on a channel, for a message or another event, and their results.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::Failure;
use loadstone_protocol::ws::SendTimes;
use rquickjs::{Class, Ctx, IntoJs, Object, Promise, Value};

use super::channel::MessageChannel;
use super::matcher::{MessageMatcher, THREW};
use super::message::MessageObject;
use super::options::MessageOptions;
use super::wait::{ChannelWait, WaitResult, WaitedFor};
use crate::runtime::promise::{PromiseEnds, settling};
use crate::runtime::step::{MeasuredStep, StepInFlight};

/// A wait for a response. It may continue after a message that did not match.
pub(in crate::protocols) struct MeasuredWait {
    pub(in crate::protocols) wait: ChannelWait,
    /// The series of the step.
    flight: Option<StepInFlight>,
    began: Nanos,
    /// The channel had ended before: nothing was waited for.
    began_closed: bool,
    pub(in crate::protocols) within_ns: u64,
    pub(in crate::protocols) sent: Option<SendTimes>,
}

impl MeasuredWait {
    /// `counted`: its failure is recorded, so that a loss of the channel need not be.
    pub(in crate::protocols) fn new(
        channel: &Rc<MessageChannel>,
        waited_for: WaitedFor,
        step: Option<&MeasuredStep>,
        counted: bool,
        within_ns: u64,
    ) -> Self {
        let user = &channel.identity.user;
        let began = user.now();
        let wait = ChannelWait::new(channel, waited_for, counted, began.saturating_add(within_ns));
        let began_closed = channel.has_ended();
        Self { wait, flight: step.map(|step| step.in_flight(user)), began, began_closed, within_ns, sent: None }
    }

    pub(in crate::protocols) fn channel(&self) -> &Rc<MessageChannel> {
        self.wait.channel()
    }

    pub(in crate::protocols) fn begin(&mut self) {
        if let Some(flight) = &mut self.flight {
            flight.begin();
        }
    }

    pub(in crate::protocols) fn end(&mut self, at: Nanos) {
        if let Some(flight) = &mut self.flight {
            flight.end(at);
        }
    }

    /// The time begins when the message is sent.
    pub(in crate::protocols) fn note_sent(&mut self, sent: SendTimes) {
        self.began = sent.started;
        self.wait.set_due(sent.started.saturating_add(self.within_ns));
        self.sent = Some(sent);
    }

    pub(in crate::protocols) fn now(&self) -> Nanos {
        self.channel().identity.user.now()
    }

    /// The measurements of the step. Nanoseconds, bytes sent and received.
    pub(in crate::protocols) fn times(&self, ended: Nanos, bytes: (u64, u64)) -> StepTimes {
        StepTimes { began: self.began, sent: self.sent.as_ref().map(|sent| sent.ended), ended, bytes }
    }

    /// Why no message follows, after the end of the channel.
    pub(in crate::protocols) fn end_of_channel(&self) -> Failure {
        let channel = self.channel();
        match channel.end() {
            Some(end) if !self.began_closed => Failure::new(end.outcome, end.message),
            _ => channel.not_open(),
        }
    }

    /// It ends without a message.
    pub(in crate::protocols) fn failed(self, failure: Failure) -> Box<WaitEnd> {
        let at = self.now();
        Box::new(WaitEnd { wait: self, result: Err(failure), at })
    }
}

/// The result of a wait.
pub(in crate::protocols) struct WaitEnd {
    pub(in crate::protocols) wait: MeasuredWait,
    /// `Err`: the message to send first could not be sent.
    pub(in crate::protocols) result: Result<WaitResult, Failure>,
    pub(in crate::protocols) at: Nanos,
}

/// Waits for the result. Implemented by hand, since an async function would store the captured values twice.
pub(in crate::protocols) struct UntilEnd(Option<MeasuredWait>);

pub(in crate::protocols) fn until_end(wait: MeasuredWait) -> UntilEnd {
    UntilEnd(Some(wait))
}

impl Future for UntilEnd {
    type Output = Box<WaitEnd>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(waiting) = &self.0 else { return Poll::Pending };
        let result = std::task::ready!(waiting.wait.poll(context));
        let at = waiting.now();
        match self.0.take() {
            Some(wait) => Poll::Ready(Box::new(WaitEnd { wait, result: Ok(result), at })),
            None => Poll::Pending,
        }
    }
}

/// `receive({ name, match, within })`.
pub(in crate::protocols) fn receive<'js>(
    ctx: &Ctx<'js>,
    channel: &Rc<MessageChannel>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = &channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    let MessageOptions { name, matcher, within_ns, tags } =
        MessageOptions::read(ctx, options, "receive(…)", &["name", "match", "within", "tags"])?;
    let step = name.map(|name| MeasuredStep::named(user, user.group(), &name).with_tags(user, &tags));
    let waited_for = WaitedFor::Message(matcher.text().map(str::to_owned));
    let within_ns = within_ns.unwrap_or(user.scenario.timeout_ns);
    let mut wait = MeasuredWait::new(channel, waited_for, step.as_ref(), step.is_some(), within_ns);
    wait.wait.consider_from(0);
    wait_for_message(ctx, channel, step, matcher, async move {
        wait.begin();
        until_end(wait).await
    })
}

/// The remedy for steps on a channel, in errors.
pub(in crate::protocols) const AWAIT: &str = "await every step";

/// A promise of the message that this work waits for.
pub(in crate::protocols) fn wait_for_message<'js>(
    ctx: &Ctx<'js>,
    channel: &Rc<MessageChannel>,
    step: Option<MeasuredStep>,
    matcher: MessageMatcher,
    work: impl Future<Output = Box<WaitEnd>> + 'static,
) -> rquickjs::Result<Promise<'js>> {
    let (promise, ends) = PromiseEnds::new(ctx)?;
    let settle = move |ctx: &Ctx<'_>, end: Box<WaitEnd>| settle_message(ctx, ends, step, matcher, *end);
    let user = &channel.identity.user;
    user.submit(settling(work, settle), &user.realm(ctx)?);
    Ok(promise)
}

fn settle_message(
    ctx: &Ctx<'_>,
    ends: PromiseEnds,
    step: Option<MeasuredStep>,
    matcher: MessageMatcher,
    end: WaitEnd,
) -> rquickjs::Result<()> {
    let WaitEnd { mut wait, result, at } = end;
    let channel = Rc::clone(wait.channel());
    let failure = match result {
        Ok(WaitResult::Message(number)) => {
            let picked = match pick(ctx, &wait, step.as_ref(), &matcher, number) {
                Ok(Some(picked)) => picked,
                Ok(None) => {
                    // The wait continues.
                    let settle = move |ctx: &Ctx<'_>, end: Box<WaitEnd>| settle_message(ctx, ends, step, matcher, *end);
                    let user = &channel.identity.user;
                    user.submit(settling(until_end(wait), settle), &user.realm(ctx)?);
                    return Ok(());
                }
                Err(error) => {
                    let now = wait.now();
                    wait.end(now);
                    let failure = Failure::new(THREW.0, THREW.1);
                    record_failure(&channel, step.as_ref(), &wait.times(now, (0, 0)), &failure);
                    return ends.settle(ctx, Err(error));
                }
            };
            let ended = picked.at.max(wait.began);
            wait.end(ended);
            if let Some(step) = &step {
                let sent = wait.sent.as_ref().map_or(0, |sent| sent.bytes);
                record(&channel, step, &wait.times(ended, (sent, picked.bytes)), None);
            }
            return ends.settle(ctx, Ok(picked.object.into_value()));
        }
        Ok(WaitResult::Late) => {
            let message = format!("{} came within {}", matcher.wanted(ctx), loadstone_units::duration::format(wait.within_ns));
            Failure::new(Outcome::Timeout, message)
        }
        Ok(_) => wait.end_of_channel(),
        Err(failure) => failure,
    };
    wait.end(at);
    let user = &channel.identity.user;
    user.forget_refusal();
    if step.is_some() {
        record_failure(&channel, step.as_ref(), &wait.times(at, (0, 0)), &failure);
    }
    if let Some(refusal) = user.take_refusal(ctx) {
        return ends.settle(ctx, Err(refusal));
    }
    let name = name_of(&channel, step.as_ref());
    let object = MessageObject::new(&channel.identity.user.worker, &name, Err(failure.message));
    ends.settle(ctx, Class::instance(ctx.clone(), object).map(Class::into_value))
}

/// The next message of `messages()`, in the form of an iterator result. Done at the end of the channel or of the load.
pub(in crate::protocols) fn next<'js>(ctx: &Ctx<'js>, channel: &Rc<MessageChannel>) -> rquickjs::Result<Promise<'js>> {
    let user = &channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    let within_ns = user.load_end().saturating_sub(user.now());
    let wait = MeasuredWait::new(channel, WaitedFor::Message(None), None, false, within_ns);
    wait.wait.consider_from(0);
    let (promise, ends) = PromiseEnds::new(ctx)?;
    let settle = move |ctx: &Ctx<'_>, end: Box<WaitEnd>| settle_next(ctx, ends, *end);
    user.submit(settling(until_end(wait), settle), &user.realm(ctx)?);
    Ok(promise)
}

fn settle_next(ctx: &Ctx<'_>, ends: PromiseEnds, end: WaitEnd) -> rquickjs::Result<()> {
    let Ok(WaitResult::Message(number)) = end.result else { return ends.settle(ctx, iterator_result(ctx, None)) };
    let channel = Rc::clone(end.wait.channel());
    let user = &channel.identity.user;
    match channel.take(number) {
        Some(message) => {
            let object = MessageObject::new(&user.worker, &channel.identity.name, Ok(message));
            ends.settle(ctx, Class::instance(ctx.clone(), object).and_then(|message| iterator_result(ctx, Some(message))))
        }
        // Another waiter has taken it in the meantime.
        None => {
            let settle = move |ctx: &Ctx<'_>, end: Box<WaitEnd>| settle_next(ctx, ends, *end);
            user.submit(settling(until_end(end.wait), settle), &user.realm(ctx)?);
            Ok(())
        }
    }
}

/// The result of an iterator's `next`.
fn iterator_result<'js>(ctx: &Ctx<'js>, message: Option<Class<'js, MessageObject>>) -> rquickjs::Result<Value<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("done", message.is_none())?;
    object.set("value", message)?;
    object.into_js(ctx)
}

/// A message that a step has received.
struct Picked<'js> {
    object: Class<'js, MessageObject>,
    /// When its last byte was read.
    at: Nanos,
    bytes: u64,
}

/// The first matching message from `number` on. The others remain in the queue.
fn pick<'js>(
    ctx: &Ctx<'js>,
    waiting: &MeasuredWait,
    step: Option<&MeasuredStep>,
    matcher: &MessageMatcher,
    number: u64,
) -> rquickjs::Result<Option<Picked<'js>>> {
    let channel = waiting.channel();
    let name = name_of(channel, step);
    let mut candidate = Some(number);
    while let Some(number) = candidate {
        // Another waiter may have taken it in the meantime.
        if let Some(message) = channel.take(number) {
            let copy = message.clone();
            let (at, bytes) = (message.at, message.size() as u64);
            let object = Class::instance(ctx.clone(), MessageObject::new(&channel.identity.user.worker, &name, Ok(message)))?;
            if matcher.accepts(ctx, &object)? {
                return Ok(Some(Picked { object, at, bytes }));
            }
            channel.put_back(number, copy);
        }
        waiting.wait.consider_from(number + 1);
        candidate = channel.candidate(number + 1, matcher.text(), waiting.wait.due());
    }
    channel.forget_unread();
    Ok(None)
}

/// The name of the step: its own or the channel's.
fn name_of(channel: &MessageChannel, step: Option<&MeasuredStep>) -> Arc<str> {
    step.map_or_else(|| Arc::clone(&channel.identity.name), |step| step.name(&channel.identity.user))
}

/// Instants of one step, and its bytes sent and received.
pub(in crate::protocols) struct StepTimes {
    pub(in crate::protocols) began: Nanos,
    /// The last byte was passed to the kernel.
    pub(in crate::protocols) sent: Option<Nanos>,
    pub(in crate::protocols) ended: Nanos,
    pub(in crate::protocols) bytes: (u64, u64),
}

/// Records a step that failed: as a request if it has a name, and in the list of errors.
pub(in crate::protocols) fn record_failure(channel: &MessageChannel, step: Option<&MeasuredStep>, times: &StepTimes, failure: &Failure) {
    match step {
        Some(step) => record(channel, step, times, Some(failure)),
        None => {
            let user = &channel.identity.user;
            MeasuredStep::record_unnamed(user, channel.identity.series, times.ended, failure);
        }
    }
}

/// Records a step as a request.
pub(in crate::protocols) fn record(channel: &MessageChannel, step: &MeasuredStep, times: &StepTimes, failure: Option<&Failure>) {
    let outcome = failure.map_or(Outcome::Passed, |failure| failure.outcome);
    let mut sample = step.sample(times.began, times.ended, outcome);
    sample.phases.wait = times.sent.map_or(0, |sent| times.ended.saturating_sub(sent));
    (sample.bytes_sent, sample.bytes_received) = times.bytes;
    step.record(&channel.identity.user, &sample, failure.map(|failure| failure.message.as_str()));
}
