//! `user.ws(…)`: the opening handshake as a measured request.

use std::rc::{Rc, Weak};

use loadstone_metrics::Outcome;
use loadstone_protocol::http::Request;
use loadstone_protocol::ws::{self, SocketOptions};
use rquickjs::{Class, Ctx, Value};

use super::connection::{UserSocket, WebSocketConnection, read};
use super::object::WebSocketObject;
use super::options::WebSocketOptions;
use crate::protocols::http::build::{build, label, url_text};
use crate::protocols::http::opening::OpeningAnswer;
use crate::protocols::http::state::{HttpScenario, HttpUser};
use crate::protocols::http::{name, opening};
use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, ChannelIdentity, MessageChannel};
use crate::runtime::object::UserObject;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.ws(url, options)`.
pub(super) struct OpenWebSocket;

impl Verb for OpenWebSocket {
    const NAME: &'static str = "ws";
    const ARGUMENTS: usize = 2;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(name::of_refused("WS", &arguments.get(0)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        open(ctx, user, &arguments.get(0), &arguments.get(1))
    }
}

/// The state of a handshake in progress.
struct Handshake {
    step: MeasuredStep,
    /// For the trace, if there is one.
    request: Option<Request>,
    drops_unread: bool,
    keep: bool,
}

/// Opens a WebSocket. The promise resolves with the socket, even if the handshake failed.
fn open<'js>(ctx: &Ctx<'js>, object: &UserObject, url: &Value<'js>, options: &Value<'js>) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "open every socket")?;
    let options = WebSocketOptions::read(ctx, Some(options))?;
    let written = as_http(url_text(ctx, url)?);
    let (mut request, _) = build(ctx, user, "GET".into(), &written, &options.request)?;
    let name = options.request.name.clone().unwrap_or_else(|| name::of_request("WS", &request.path));
    label(user, &mut request, &name);
    let step = MeasuredStep::named(user, object.group(), &name).with_tags(user, &options.request.tags);
    step.note_place(ctx, user);
    let mut flight = step.in_flight(user);
    let traced = user.worker.sinks.exchanges.is_some().then(|| request.clone());
    let handshake = Handshake { step, request: traced, drops_unread: options.drops_unread, keep: options.keep };
    let socket_options = SocketOptions {
        protocols: options.protocols,
        compression: options.compression,
        message_bytes_max: HttpScenario::of(user).body_bytes_max,
    };
    let (http, network) = (HttpUser::of(user), Rc::clone(&user.worker.network));
    let work = async move {
        network.admit().await;
        flight.begin();
        let opening = http.session.open_socket(request, &socket_options).await;
        flight.end(opening.exchange.ended);
        Box::new(opening)
    };
    let promise = user.promise(ctx, work, move |ctx, user, opening| conclude(ctx, user, handshake, *opening))?;
    Ok(promise.into_value())
}

/// The handshake is a request to the http address of the same name.
fn as_http(written: String) -> String {
    let lower = written.get(..6).map(str::to_ascii_lowercase).unwrap_or_default();
    match () {
        () if lower.starts_with("ws://") => format!("http{}", &written[2..]),
        () if lower.starts_with("wss://") => format!("https{}", &written[3..]),
        () => written,
    }
}

/// Judges and records a handshake and creates the socket object.
fn conclude<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    handshake: Handshake,
    opening: ws::WebSocketOpening,
) -> rquickjs::Result<Value<'js>> {
    let Handshake { step, request, drops_unread, keep } = handshake;
    let ws::WebSocketOpening { exchange, socket } = opening;
    let opened = match (socket, &exchange.result) {
        (Some(socket), _) => Ok(Rc::new(socket)),
        (None, Err(failure)) => Err((failure.outcome, failure.message.clone())),
        (None, Ok(response)) => Err((Outcome::Status, format!("status {} instead of a WebSocket", response.status))),
    };
    opening::record(&step, user, (request.as_ref(), &exchange), &[], opened.as_ref().err());
    let answer = OpeningAnswer::of(&exchange);
    let protocol = opened.as_ref().ok().and_then(|socket| socket.protocol()).unwrap_or_default().to_owned();
    let identity = ChannelIdentity { user: Rc::clone(user), name: step.name(user), series: step.series, drops_unread, is_kept: keep };
    let (channel, socket) = match opened {
        Ok(socket) => {
            let connection: Rc<dyn ChannelConnection> = Rc::new(WebSocketConnection(Rc::clone(&socket)));
            let channel = MessageChannel::new(identity, Ok(connection));
            channel.read_with(read(Rc::clone(&channel), Rc::clone(&socket)));
            (channel, Rc::downgrade(&socket))
        }
        Err((outcome, message)) => (MessageChannel::new(identity, Err(ChannelEnd::broken(outcome, message))), Weak::new()),
    };
    Class::instance(ctx.clone(), WebSocketObject::new(UserSocket { channel, socket }, protocol, answer)).map(Class::into_value)
}
