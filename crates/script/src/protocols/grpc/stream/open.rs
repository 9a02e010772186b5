//! `user.grpcStream(…)`: begins a call that sends and receives messages one by one.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use loadstone_protocol::grpc::{GrpcStreamOpening, PreparedGrpcCall};
use rquickjs::{Class, Ctx, Exception, Value};

use super::follow::{FirstMessage, follow};
use super::object::GrpcStreamObject;
use super::running::{RunningCall, StreamEnding, StreamHandle};
use crate::protocols::grpc::build;
use crate::protocols::grpc::codec::encode;
use crate::protocols::grpc::lookup::{self, AskedCall};
use crate::protocols::grpc::methods::{GrpcMethod, GrpcRealm};
use crate::protocols::grpc::options::GrpcOptions;
use crate::protocols::grpc::state::GrpcUser;
use crate::protocols::http::conclude::sample;
use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, ChannelIdentity, MessageChannel};
use crate::runtime::group::Group;
use crate::runtime::object::UserObject;
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;
use crate::runtime::verb::{Verb, VerbArguments};
use crate::sinks::MessageDirection;
use loadstone_protocol::ws::Payload;

/// `user.grpcStream(method, message, options)`.
pub(in crate::protocols::grpc) struct OpenGrpcStream;

impl Verb for OpenGrpcStream {
    const NAME: &'static str = "grpcStream";
    const ARGUMENTS: usize = 3;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(lookup::refused_name(&arguments.get(0)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        user.state.check_running(ctx, "open every stream")?;
        let asked = AskedCall { name: arguments.get(0), message: arguments.get(1), options: arguments.get(2), group: user.group() };
        lookup::with_method(ctx, &user.state, asked, GrpcOptions::of_stream, (open, open))
    }
}

/// The state of a call that begins.
struct Beginning {
    method: Rc<GrpcMethod>,
    options: GrpcOptions,
    step: MeasuredStep,
    first: Option<MeasuredStep>,
    /// The first message, for display.
    json: Option<String>,
}

/// How it began, with its times still running.
struct Begun {
    opening: GrpcStreamOpening,
    flight: StepInFlight,
    first: Option<StepInFlight>,
}

fn open<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    method: Rc<GrpcMethod>,
    message: &Value<'js>,
    options: GrpcOptions,
    group: Option<Rc<Group>>,
) -> rquickjs::Result<Value<'js>> {
    let realm = user.realm(ctx)?;
    let grpc: &GrpcRealm = realm.parts.get();
    if method.is_unary() {
        return Err(Exception::throw_type(ctx, &format!("{} has one message and one response: call it with `user.grpc(…)`", method.name)));
    }
    // A method that takes one message receives it now. Others may begin without one.
    let first_message = match message.is_undefined() || message.is_null() {
        true if method.streams_requests => None,
        _ => Some(encode(ctx, grpc, &method, message, user.worker.sinks.messages.is_some())?),
    };
    let client = GrpcUser::of(user);
    let request = build::request(ctx, user, &client, (&method.path, &method.name), &options, options.timeout_ns)?;
    let name = options.name.clone().unwrap_or_else(|| method.name.clone());
    let step = MeasuredStep::named(user, group, &name).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    // If only the client streams, the first message is the end.
    let first = method.streams_responses.then(|| step.with_name(user, &format!("{name} first message")));
    let flights = (step.in_background(user, step.due), first.as_ref().map(|first| first.in_background(user, step.due)));
    let (bytes, json) = first_message.map(|encoded| (encoded.bytes, encoded.json)).unzip();
    let work =
        begin(Rc::clone(user), client, PreparedGrpcCall::new(request, user.scenario.timeout_ns), bytes, !method.streams_requests, flights);
    let beginning = Beginning { method, options, step, first, json };
    let promise = user.promise(ctx, work, move |ctx, user, begun| conclude(ctx, user, beginning, *begun))?;
    Ok(promise.into_value())
}

async fn begin(
    user: Rc<UserState>,
    client: Rc<GrpcUser>,
    prepared: PreparedGrpcCall,
    message: Option<Vec<u8>>,
    ends: bool,
    (mut flight, mut first): (StepInFlight, Option<StepInFlight>),
) -> Box<Begun> {
    if user.worker.network.limits_connections() {
        Box::pin(client.client.admit(&prepared)).await;
    }
    flight.begin();
    if let Some(first) = &mut first {
        first.begin();
    }
    let mut opening = client.client.stream(&prepared).await;
    let mut broken = None;
    if let (Ok((sender, _)), Some(message)) = (&mut opening.opened, &message) {
        match sender.send(message).await {
            Ok(()) if ends => sender.end(),
            Ok(()) => {}
            Err(failure) => broken = Some(failure),
        }
    }
    if let Some(failure) = broken {
        opening.opened = Err(failure);
    }
    Box::new(Begun { opening, flight, first })
}

/// Creates the object of a call that has begun. If it has not, records why.
fn conclude<'js>(ctx: &Ctx<'js>, user: &Rc<UserState>, beginning: Beginning, begun: Begun) -> rquickjs::Result<Value<'js>> {
    let Beginning { method, options, step, first, json } = beginning;
    let Begun { opening: GrpcStreamOpening { mut exchange, opened }, mut flight, first: first_flight } = begun;
    let ending: Rc<StreamEnding> = Rc::default();
    let identity = ChannelIdentity {
        user: Rc::clone(user),
        name: step.name(user),
        series: step.series,
        drops_unread: options.drops_unread,
        is_kept: false,
    };
    let (sender, receiver) = match opened {
        Ok(halves) => halves,
        Err(failure) => {
            let now = user.now();
            exchange.ended = exchange.ended.max(now);
            flight.end(now);
            if let Some(mut first) = first_flight {
                // Nothing was cut off: no message could be received.
                first.end(now);
            }
            step.record(user, &sample(&exchange, &[], step.due, failure.outcome), Some(&failure.message));
            let channel = MessageChannel::new(identity, Err(ChannelEnd::broken(failure.outcome, failure.message)));
            let stream = GrpcStreamObject { stream: StreamHandle { channel, call: Weak::new(), ending, method } };
            return Class::instance(ctx.clone(), stream).map(Class::into_value);
        }
    };
    let call = Rc::new(RunningCall {
        user: Rc::clone(user),
        method: Rc::clone(&method),
        step,
        expect: options.expect,
        flight: RefCell::new(Some(flight)),
        opening: exchange,
        sender: tokio::sync::Mutex::new(sender),
        first_at: Cell::default(),
        ending: Rc::clone(&ending),
    });
    let connection: Rc<dyn ChannelConnection> = Rc::<RunningCall>::clone(&call);
    let channel = MessageChannel::new(identity, Ok(connection));
    if let Some(json) = json {
        ending.sent.set(1);
        channel.show(MessageDirection::Sent, None, &Payload::Text(json), None);
    }
    let first = first.zip(first_flight).map(|(step, flight)| FirstMessage { step, flight });
    channel.read_with(follow(Rc::clone(&channel), Rc::clone(&call), receiver, first));
    let stream = GrpcStreamObject { stream: StreamHandle { channel, call: Rc::downgrade(&call), ending, method } };
    Class::instance(ctx.clone(), stream).map(Class::into_value)
}
