//! A script's steps on a channel other than receiving: sending, and requests, which the first matching message answers.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use loadstone_metrics::{Outcome, SeriesId};
use loadstone_protocol::Failure;
use loadstone_protocol::ws::{Payload, SendTimes};
use rquickjs::{Ctx, Exception, Promise, Value};

use super::channel::{ChannelIdentity, MessageChannel};
use super::options::MessageOptions;
use super::receive::{AWAIT, MeasuredWait, StepTimes, WaitEnd, record, record_failure, until_end, wait_for_message};
use super::wait::{ChannelWait, WaitedFor};
use crate::globals::bytes::bytes_of;
use crate::runtime::refusal::own_name;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::sinks::MessageDirection;

/// A channel on which the script can send.
pub(in crate::protocols) trait SendingChannel: Clone + 'static {
    fn channel(&self) -> &Rc<MessageChannel>;

    /// Passes a message to the kernel.
    fn hand_over(&self, message: &Payload) -> impl Future<Output = Result<SendTimes, Failure>>;
}

/// The channel's user. Its iteration must be running.
fn running<'s>(ctx: &Ctx<'_>, channel: &'s MessageChannel) -> rquickjs::Result<&'s Rc<UserState>> {
    let user = &channel.identity.user;
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

/// Reads the arguments of a step that sends. If they cannot be sent, the step is recorded as refused: under the name in its options, the default,
/// or the name of the channel.
pub(in crate::protocols) fn refusing<'js, T>(
    ctx: &Ctx<'js>,
    channel: &MessageChannel,
    options: Option<&Value<'js>>,
    default_name: impl FnOnce() -> Option<String>,
    read: impl FnOnce() -> rquickjs::Result<T>,
) -> rquickjs::Result<T> {
    let ChannelIdentity { user, series, .. } = &channel.identity;
    let step = || match own_name(options).or_else(default_name) {
        Some(name) => MeasuredStep::named(user, user.group(), &name),
        None => MeasuredStep::of_series(user, user.group(), *series),
    };
    user.refusing(ctx, step, read)
}

/// Sends, with the time limit of a wait.
async fn send_within(
    on: &impl SendingChannel,
    wait: &ChannelWait,
    message: &Payload,
    series: Option<SeriesId>,
) -> Result<SendTimes, Failure> {
    let mut sending = pin!(on.hand_over(message));
    let late = || Err(Failure::new(Outcome::Timeout, "timed out sending the message"));
    let sent = poll_fn(|context| match sending.as_mut().poll(context) {
        Poll::Ready(sent) => Poll::Ready(sent),
        Poll::Pending => wait.poll_late(context).map(|()| late()),
    })
    .await?;
    on.channel().show(MessageDirection::Sent, series, message, None);
    Ok(sent)
}

/// `send(message, { name, tags })`.
pub(in crate::protocols) fn send<'js>(
    ctx: &Ctx<'js>,
    on: &impl SendingChannel,
    message: &Value<'js>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let channel = Rc::clone(on.channel());
    let user = running(ctx, &channel)?;
    let (message, options) = refusing(
        ctx,
        &channel,
        options,
        || None,
        || Ok((payload(ctx, message)?, MessageOptions::read(ctx, options, "send(…)", &["name", "tags"])?)),
    )?;
    let step = options.name.as_deref().map(|name| MeasuredStep::named(user, user.group(), name).with_tags(user, &options.tags));
    let mut wait = MeasuredWait::new(&channel, WaitedFor::End, step.as_ref(), true, user.scenario.timeout_ns);
    let on = on.clone();
    let series = step.as_ref().map(|step| step.series);
    let work = async move {
        wait.begin();
        let sent = send_within(&on, &wait.wait, &message, series).await;
        let now = wait.now();
        wait.end(sent.as_ref().map_or(now, |sent| sent.ended));
        sent
    };
    let user = Rc::clone(user);
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

/// `request(message, { name, match, within, tags })`.
pub(in crate::protocols) fn request<'js>(
    ctx: &Ctx<'js>,
    on: &impl SendingChannel,
    message: &Value<'js>,
    options: Option<&Value<'js>>,
) -> rquickjs::Result<Promise<'js>> {
    let channel = on.channel();
    let user = running(ctx, channel)?;
    let default_name = || format!("{} request", channel.identity.name);
    let (message, options) = refusing(
        ctx,
        channel,
        options,
        || Some(default_name()),
        || Ok((payload(ctx, message)?, MessageOptions::read(ctx, options, "request(…)", &["name", "match", "within", "tags"])?)),
    )?;
    let MessageOptions { name, matcher, within_ns, tags } = options;
    let step = MeasuredStep::named(user, user.group(), &name.unwrap_or_else(default_name));
    let step = step.with_tags(user, &tags);
    step.note_place(ctx, user);
    let waited_for = WaitedFor::Message(matcher.text().map(str::to_owned));
    let wait = MeasuredWait::new(channel, waited_for, Some(&step), true, within_ns.unwrap_or(user.scenario.timeout_ns));
    let series = step.series;
    wait_for_message(ctx, channel, Some(step), matcher, send_and_wait(on.clone(), wait, message, series))
}

async fn send_and_wait(on: impl SendingChannel, mut wait: MeasuredWait, message: Payload, series: SeriesId) -> Box<WaitEnd> {
    wait.begin();
    match send_within(&on, &wait.wait, &message, Some(series)).await {
        Ok(sent) => {
            drop(message);
            wait.note_sent(sent);
            wait.wait.consider_from(on.channel().number_next());
            until_end(wait).await
        }
        Err(failure) => wait.failed(failure),
    }
}
