//! A script's steps that only WebSockets have: pings, and the end.

use std::future::poll_fn;
use std::rc::Rc;

use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::Failure;
use rquickjs::{Ctx, Object, Promise, Value};

use super::connection::UserSocket;
use crate::protocols::messages::channel::{ChannelEnd, MessageChannel};
use crate::protocols::messages::options::MessageOptions;
use crate::protocols::messages::receive::{AWAIT, MeasuredWait, WaitEnd, record, record_failure, until_end};
use crate::protocols::messages::sending::refusing;
use crate::protocols::messages::wait::{ChannelWait, WaitResult, WaitedFor};
use crate::runtime::step::MeasuredStep;

/// `socket.ping({ name, within, tags })`.
pub(super) fn ping<'js>(ctx: &Ctx<'js>, socket: &UserSocket, number: u64, options: Option<&Value<'js>>) -> rquickjs::Result<Promise<'js>> {
    let user = &socket.channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    let read = || MessageOptions::read(ctx, options, "ping(…)", &["name", "within", "tags"]);
    let MessageOptions { name, within_ns, tags, .. } = refusing(ctx, &socket.channel, options, || None, read)?;
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

/// `true`: the pong arrived in time.
fn ponged(step: Option<&MeasuredStep>, end: WaitEnd) -> bool {
    let WaitEnd { mut wait, result, at } = end;
    let channel = Rc::clone(wait.channel());
    let mut lost = false;
    let failure = match result {
        Ok(WaitResult::Pong(at)) => {
            wait.end(at);
            if let Some(step) = step {
                let bytes = wait.sent.as_ref().map_or(0, |sent| sent.bytes);
                // A client's frames have a mask of four bytes, a server's do not (RFC 6455, section 5.1).
                record(&channel, step, &wait.times(at, (bytes, bytes.saturating_sub(4))), None);
            }
            return true;
        }
        Ok(WaitResult::Late) => {
            lost = true;
            let message = format!("no pong arrived within {}: the connection is lost", loadstone_units::duration::format(wait.within_ns));
            Failure::new(Outcome::Timeout, message)
        }
        Ok(_) => wait.end_of_channel(),
        Err(failure) => failure,
    };
    wait.end(at);
    record_failure(&channel, step, &wait.times(at, (0, 0)), &failure);
    if lost {
        // Still in the list of waiters, so that the loss is recorded once.
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
