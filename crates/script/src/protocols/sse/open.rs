//! `user.events(…)`: opens a stream as a measured request.

use std::rc::Rc;

use rquickjs::{Class, Ctx, Value};

use super::object::EventStreamObject;
use super::options::EventOptions;
use super::source::{ConnectedBy, EventConnection, EventSource, StreamOpening, follow};
use crate::protocols::http::build::{build, label, url_text};
use crate::protocols::http::name;
use crate::protocols::http::opening::OpeningAnswer;
use crate::protocols::messages::channel::{ChannelConnection, ChannelIdentity, MessageChannel};
use crate::runtime::object::UserObject;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.events(url, options)`.
pub(super) struct OpenEventStream;

impl Verb for OpenEventStream {
    const NAME: &'static str = "events";
    const ARGUMENTS: usize = 2;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(name::of_refused("SSE", &arguments.get(0)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        open(ctx, user, &arguments.get(0), &arguments.get(1))
    }
}

/// Opens a stream. The promise resolves with it, even if the opening failed.
fn open<'js>(ctx: &Ctx<'js>, object: &UserObject, url: &Value<'js>, options: &Value<'js>) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "open every stream")?;
    let options = EventOptions::read(ctx, user, Some(options))?;
    let default = if options.request.body.is_empty() { "GET" } else { "POST" };
    let method = options.method.as_deref().unwrap_or(default);
    let (mut request, redirects_max) = build(ctx, user, method.into(), &url_text(ctx, url)?, &options.request)?;
    let opening_name = match &options.request.name {
        Some(name) => name.clone(),
        None => name::of_request("SSE", &request.path),
    };
    label(user, &mut request, &opening_name);
    let opening = MeasuredStep::named(user, object.group(), &opening_name).with_tags(user, &options.request.tags);
    opening.note_place(ctx, user);
    // The first event is due at the same time as the stream.
    let first = opening.with_name(user, &format!("{opening_name} first event"));
    let reconnects = options.reconnects.unwrap_or(true);
    let source = EventSource { user: Rc::clone(user), request, opening, first, redirects_max, reconnects };
    let opening = source.connect(ConnectedBy::Script, "");
    let work = async move { Box::new(opening.await) };
    let drops_unread = options.drops_unread;
    let promise = user.promise(ctx, work, move |ctx, user, opening| conclude(ctx, user, source, drops_unread, *opening))?;
    Ok(promise.into_value())
}

/// Judges and records the opening and makes the object.
fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    mut source: EventSource,
    drops_unread: bool,
    opening: StreamOpening,
) -> rquickjs::Result<Value<'js>> {
    let answer = OpeningAnswer::of(opening.exchange());
    let opened = source.judge(opening);
    // The following events have no schedule.
    source.opening.due = None;
    let identity = ChannelIdentity {
        user: Rc::clone(user),
        name: source.opening.name(user),
        series: source.opening.series,
        drops_unread,
        is_kept: false,
    };
    let channel = match opened {
        Ok(connected) => {
            let connection: Rc<dyn ChannelConnection> = Rc::new(EventConnection);
            let channel = MessageChannel::new(identity, Ok(connection));
            channel.read_with(follow(Rc::clone(&channel), source, connected));
            channel
        }
        Err(end) => MessageChannel::new(identity, Err(end)),
    };
    Class::instance(ctx.clone(), EventStreamObject::new(channel, answer)).map(Class::into_value)
}
