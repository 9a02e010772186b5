//! Steps of a stream other than receiving messages: sending, and the end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use loadstone_metrics::{Nanos, Outcome};
use loadstone_protocol::Failure;
use loadstone_protocol::ws::Payload;
use rquickjs::{Ctx, Object, Promise, Value};

use super::running::StreamHandle;
use crate::protocols::grpc::codec::{Encoded, encode};
use crate::protocols::grpc::methods::GrpcRealm;
use crate::protocols::http::response::fields;
use crate::protocols::messages::receive::{AWAIT, StepTimes, record_failure};
use crate::protocols::messages::sending::refusing;
use crate::protocols::messages::wait::{ChannelWait, WaitedFor};
use crate::sinks::MessageDirection;

/// `stream.send(message)`: resolves when the connection has accepted it, however the call ends.
pub(super) fn send<'js>(ctx: &Ctx<'js>, stream: &StreamHandle, message: &Value<'js>) -> rquickjs::Result<Promise<'js>> {
    let user = &stream.channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    let realm = user.realm(ctx)?;
    let grpc: &GrpcRealm = realm.parts.get();
    let read = || encode(ctx, grpc, &stream.method, message, user.worker.sinks.messages.is_some());
    let Encoded { bytes, json } = refusing(ctx, &stream.channel, None, || None, read)?;
    let (channel, call, began) = (Rc::clone(&stream.channel), stream.call.clone(), user.now());
    let limit = user.worker.clock.sleep_until(began.saturating_add(user.scenario.timeout_ns));
    let work = async move {
        // The call has ended: its record reports why.
        let call = call.upgrade()?;
        let sending = async { call.sender.lock().await.send(&bytes).await };
        let mut sending = pin!(sending);
        let sent = poll_fn(|context| match sending.as_mut().poll(context) {
            Poll::Ready(sent) => Poll::Ready(Some(sent.is_ok())),
            Poll::Pending => limit.poll_due(context).map(|()| None),
        })
        .await;
        if sent == Some(true) {
            call.ending.sent.set(call.ending.sent.get() + 1);
            channel.show(MessageDirection::Sent, None, &Payload::Text(json), None);
        }
        sent
    };
    let channel = Rc::clone(&stream.channel);
    let is_open = channel.is_open();
    user.promise(ctx, work, move |ctx, user, sent| {
        if is_open && sent.is_none() && channel.is_open() {
            let failure = Failure::new(Outcome::Timeout, "timed out sending a message: the server accepts no more");
            record_failure(&channel, None, &StepTimes { began, sent: None, ended: user.now(), bytes: (0, 0) }, &failure);
        }
        Ok(Value::new_undefined(ctx.clone()))
    })
}

/// `stream.end()`: sends nothing more. Waits for messages that are being sent.
pub(super) fn end<'js>(ctx: &Ctx<'js>, stream: &StreamHandle) -> rquickjs::Result<Promise<'js>> {
    let user = &stream.channel.identity.user;
    user.check_running(ctx, AWAIT)?;
    let call = stream.call.clone();
    let work = async move {
        if let Some(call) = call.upgrade() {
            call.sender.lock().await.end();
        }
    };
    user.promise(ctx, work, |ctx, _, ()| Ok(Value::new_undefined(ctx.clone())))
}

/// `stream.closed`: how the call ended.
pub(super) fn closed<'js>(ctx: &Ctx<'js>, stream: &StreamHandle) -> rquickjs::Result<Promise<'js>> {
    let wait = ChannelWait::new(&stream.channel, WaitedFor::End, false, Nanos::MAX);
    let work = async move {
        poll_fn(|context| wait.poll(context)).await;
    };
    let ending = Rc::clone(&stream.ending);
    stream.channel.identity.user.promise(ctx, work, move |ctx, _, ()| {
        let object = Object::new(ctx.clone())?;
        object.set("status", ending.status.get().map(loadstone_protocol::grpc::GrpcStatus::name))?;
        object.set("details", ending.details.borrow().clone())?;
        object.set("trailers", fields(ctx, Some(&ending.trailers.borrow()))?)?;
        Ok(object.into_value())
    })
}
