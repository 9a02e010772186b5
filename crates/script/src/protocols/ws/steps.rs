//! What a script awaits on a WebSocket beside its messages: sending, requests, pings, closing.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use metrics::{Nanos, Outcome, SeriesId};
use protocol::Failure;
use protocol::ws::{Payload, SendTimes};
use rquickjs::{Ctx, Exception, Object, Promise, Value};

use super::connection::UserSocket;
use crate::globals::bytes::bytes_of;
use crate::protocols::messages::channel::{ChannelEnd, MessageChannel};
use crate::protocols::messages::options::MessageOptions;
use crate::protocols::messages::receive::{
    AWAIT, MeasuredWait, StepTimes, WaitEnd, end_of, record, record_failure, until_end, wait_for_message,
};
use crate::protocols::messages::wait::{ChannelWait, WaitResult, WaitedFor};
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::MessageDirection;

/// The socket's user, whose iteration must be running.
fn running<'s>(ctx: &Ctx<'_>, socket: &'s UserSocket) -> rquickjs::Result<&'s Rc<UserState>> {
    let user = &socket.channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    Ok(user)
}

fn payload(ctx: &Ctx<'_>, message: &Value<'_>) -> rquickjs::Result<Payload> {
    if let Some(text) = message.as_string() {
        return Ok(Payload::Text(text.to_string()?));
    }
    match bytes_of(message) {
        Some(bytes) => Ok(Payload::Binary(bytes.into())),
        None => {
            Err(Exception::throw_type(ctx, "expected the message as a string or bytes (Uint8Array); write objects with JSON.stringify(…)"))
        }
    }
}

/// Sends, under the time limit of a wait.
async fn send_within(socket: &UserSocket, wait: &ChannelWait, message: &Payload, series: Option<SeriesId>) -> Result<SendTimes, Failure> {
    let sending = socket.sending()?;
    let mut sending = pin!(async {
        match message {
            Payload::Text(text) => sending.send_text(text).await,
            Payload::Binary(bytes) => sending.send_binary(bytes).await,
        }
    });
    let late = || Err(Failure { outcome: Outcome::Timeout, message: "timed out sending the message".to_owned() });
    let sent = poll_fn(|context| match sending.as_mut().poll(context) {
        Poll::Ready(sent) => Poll::Ready(sent),
        Poll::Pending => wait.poll_late(context).map(|()| late()),
    })
    .await?;
    socket.channel.show(MessageDirection::Sent, series, message, None);
    Ok(sent)
}

/// `socket.send(message, { name, tags })`.
pub(super) fn send<'js>(
    ctx: &Ctx<'js>,
    socket: &UserSocket,
    message: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = running(ctx, socket)?;
    let message = payload(ctx, message)?;
    let options = MessageOptions::read(ctx, given, "send(…)", &["name", "tags"])?;
    let step = options.name.as_deref().map(|name| MeasuredStep::named(user, user.group(), name).with_tags(user, &options.tags));
    let mut wait = MeasuredWait::new(&socket.channel, WaitedFor::End, step.as_ref(), true, user.scenario.timeout_ns);
    let socket = socket.clone();
    let channel = Rc::clone(&socket.channel);
    let series = step.as_ref().map(|step| step.series);
    let work = async move {
        wait.begin();
        let sent = send_within(&socket, &wait.wait, &message, series).await;
        let now = wait.now();
        wait.end(sent.as_ref().map_or(now, |sent| sent.ended));
        sent
    };
    user.promise(ctx, work, move |ctx, user, sent| {
        let now = user.now();
        match (sent, &step) {
            (Ok(sent), Some(step)) => {
                record(&channel, step, &StepTimes { began: sent.started, sent: None, ended: sent.ended, bytes: (sent.bytes, 0) }, None);
            }
            (Ok(_), None) => {}
            (Err(failure), step) => {
                record_failure(&channel, step.as_ref(), &StepTimes { began: now, sent: None, ended: now, bytes: (0, 0) }, &failure);
            }
        }
        Ok(Value::new_undefined(ctx.clone()))
    })
}

/// `socket.request(message, { name, match, within, tags })`.
pub(super) fn request<'js>(
    ctx: &Ctx<'js>,
    socket: &UserSocket,
    message: &Value<'js>,
    given: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let user = running(ctx, socket)?;
    let message = payload(ctx, message)?;
    let MessageOptions { name, matcher, within_ns, tags } =
        MessageOptions::read(ctx, given, "request(…)", &["name", "match", "within", "tags"])?;
    let step = match name {
        Some(name) => MeasuredStep::named(user, user.group(), &name),
        None => MeasuredStep::named(user, user.group(), &format!("{} request", socket.channel.identity.name)),
    };
    let step = step.with_tags(user, &tags);
    step.note_place(ctx, user);
    let waited_for = WaitedFor::Message(matcher.text().map(str::to_owned));
    let wait = MeasuredWait::new(&socket.channel, waited_for, Some(&step), true, within_ns.unwrap_or(user.scenario.timeout_ns));
    let series = step.series;
    wait_for_message(ctx, &socket.channel, Some(step), matcher, send_and_wait(socket.clone(), wait, message, series))
}

async fn send_and_wait(socket: UserSocket, mut wait: MeasuredWait, message: Payload, series: SeriesId) -> Box<WaitEnd> {
    wait.begin();
    match send_within(&socket, &wait.wait, &message, Some(series)).await {
        Ok(sent) => {
            drop(message);
            wait.note_sent(sent);
            wait.wait.consider_from(socket.channel.number_next());
            until_end(wait).await
        }
        Err(failure) => wait.failed(failure),
    }
}

/// `socket.ping({ name, within, tags })`.
pub(super) fn ping<'js>(ctx: &Ctx<'js>, socket: &UserSocket, number: u64, given: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    let user = running(ctx, socket)?;
    let MessageOptions { name, within_ns, tags, .. } = MessageOptions::read(ctx, given, "ping(…)", &["name", "within", "tags"])?;
    let step = name.map(|name| MeasuredStep::named(user, user.group(), &name).with_tags(user, &tags));
    let within_ns = within_ns.unwrap_or(user.scenario.timeout_ns);
    let wait = MeasuredWait::new(&socket.channel, WaitedFor::Pong(number), step.as_ref(), true, within_ns);
    let work = ping_and_wait(socket.clone(), wait, number);
    user.promise(ctx, work, move |ctx, _, end| Ok(Value::new_bool(ctx.clone(), ponged(step.as_ref(), *end))))
}

async fn ping_and_wait(socket: UserSocket, mut wait: MeasuredWait, number: u64) -> Box<WaitEnd> {
    wait.begin();
    let pinged = match socket.sending() {
        Ok(socket) => socket.ping(&number.to_be_bytes()).await,
        Err(failure) => Err(failure),
    };
    match pinged {
        Ok(sent) => {
            wait.note_sent(sent);
            until_end(wait).await
        }
        Err(failure) => wait.failed(failure),
    }
}

/// `true`: the pong came in time.
fn ponged(step: Option<&MeasuredStep>, end: WaitEnd) -> bool {
    let WaitEnd { mut wait, result, at } = end;
    let channel = Rc::clone(wait.channel());
    let mut lost = false;
    let failure = match result {
        Ok(WaitResult::Pong(at)) => {
            wait.end(at);
            if let Some(step) = step {
                let bytes = wait.sent.as_ref().map_or(0, |sent| sent.bytes);
                // A client's frames carry a mask of four bytes, a server's do not (RFC 6455, section 5.1).
                record(&channel, step, &wait.times(at, (bytes, bytes.saturating_sub(4))), None);
            }
            return true;
        }
        Ok(WaitResult::Late) => {
            lost = true;
            let message = format!("no pong came within {}: the connection is lost", units::duration::format(wait.within_ns));
            Failure { outcome: Outcome::Timeout, message }
        }
        Ok(_) => end_of(&channel),
        Err(failure) => failure,
    };
    wait.end(at);
    record_failure(&channel, step, &wait.times(at, (0, 0)), &failure);
    if lost {
        // Still in the list of those who wait, so that the loss is counted once.
        channel.finish(ChannelEnd::broken(Outcome::Timeout, failure.message));
    }
    false
}

/// `socket.closed`.
pub(super) fn closed<'js>(ctx: &Ctx<'js>, channel: &Rc<MessageChannel>) -> rquickjs::Result<Promise<'js>> {
    let wait = ChannelWait::new(channel, WaitedFor::End, false, Nanos::MAX);
    let channel = Rc::clone(channel);
    let work = async move {
        poll_fn(|context| wait.poll(context)).await;
    };
    let user = Rc::clone(&channel.identity.user);
    user.promise(ctx, work, move |ctx, _, ()| {
        let object = Object::new(ctx.clone())?;
        if let Some(end) = channel.end() {
            object.set("code", end.code)?;
            object.set("reason", end.reason)?;
        }
        Ok(object.into_value())
    })
}
