//! `user.grpc(…)`: one message sent, one received.

use std::rc::Rc;

use loadstone_protocol::grpc::{PreparedGrpcCall, UnaryCall};
use rquickjs::{Ctx, Exception, Value};

use super::build;
use super::codec::{Encoded, encode};
use super::conclude::{IssuedCall, conclude};
use super::lookup::{self, AskedCall, Begin};
use super::methods::{GrpcMethod, GrpcRealm};
use super::options::GrpcOptions;
use super::state::GrpcUser;
use crate::runtime::group::Group;
use crate::runtime::object::UserObject;
use crate::runtime::promise::AwaitedBy;
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::user::UserState;
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.grpc(method, message, options)`.
pub(super) struct CallUnary;

impl Verb for CallUnary {
    const NAME: &'static str = "grpc";
    const ARGUMENTS: usize = 3;
    const IS_STEPPED: bool = true;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        Some(lookup::refused_name(&arguments.get(0)))
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        begin(ctx, user, arguments, call)
    }
}

/// The same, called by a function that yields at once: see `compile::stepped`.
pub(super) struct CallStepped;

impl Verb for CallStepped {
    const NAME: &'static str = "$loadstone_grpc";
    const ARGUMENTS: usize = 3;

    fn refused_name(arguments: &VerbArguments<'_, '_>) -> Option<String> {
        CallUnary::refused_name(arguments)
    }

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        begin(ctx, user, arguments, call_stepped)
    }
}

/// `at_once`: begins a call whose method is known.
fn begin<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>, at_once: Begin) -> rquickjs::Result<Value<'js>> {
    user.state.check_running(ctx, "await every call")?;
    let asked = AskedCall { name: arguments.get(0), message: arguments.get(1), options: arguments.get(2), group: user.group() };
    lookup::with_method(ctx, &user.state, asked, GrpcOptions::of_call, (at_once, call))
}

fn call<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    method: Rc<GrpcMethod>,
    message: &Value<'js>,
    options: GrpcOptions,
    group: Option<Rc<Group>>,
) -> rquickjs::Result<Value<'js>> {
    send(ctx, user, method, message, options, group, AwaitedBy::Promise)
}

fn call_stepped<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    method: Rc<GrpcMethod>,
    message: &Value<'js>,
    options: GrpcOptions,
    group: Option<Rc<Group>>,
) -> rquickjs::Result<Value<'js>> {
    send(ctx, user, method, message, options, group, AwaitedBy::Generator)
}

fn send<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    method: Rc<GrpcMethod>,
    message: &Value<'js>,
    options: GrpcOptions,
    group: Option<Rc<Group>>,
    awaited_by: AwaitedBy,
) -> rquickjs::Result<Value<'js>> {
    check_unary(ctx, &method)?;
    let realm = user.realm(ctx)?;
    let grpc: &GrpcRealm = realm.parts.get();
    let follows = user.worker.sinks.exchanges.is_some();
    let Encoded { bytes, json } = encode(ctx, grpc, &method, message, follows)?;
    let timeout_ns = options.timeout_ns.unwrap_or(user.scenario.timeout_ns);
    let client = GrpcUser::of(user);
    let prepared = build::prepared(ctx, user, &client, &method, &options, timeout_ns)?;
    let step = MeasuredStep::named(user, group, options.name.as_deref().unwrap_or(&method.name)).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let followed = follows.then(|| (Rc::clone(&prepared), json));
    let work = perform(step.in_flight(user), client, prepared, bytes);
    let issued = IssuedCall { step, method, expect: options.expect, followed };
    user.awaited(ctx, awaited_by, work, move |ctx, user, sent| conclude(ctx, user, issued, sent))
}

fn check_unary(ctx: &Ctx<'_>, method: &GrpcMethod) -> rquickjs::Result<()> {
    if method.is_unary() {
        return Ok(());
    }
    Err(Exception::throw_type(ctx, &format!("{} streams its messages: call it with `user.grpcStream(…)`", method.name)))
}

async fn perform(mut flight: StepInFlight, user: Rc<GrpcUser>, prepared: Rc<PreparedGrpcCall>, message: Vec<u8>) -> Box<UnaryCall> {
    if flight.user().worker.network.limits_connections() {
        Box::pin(user.client.admit(&prepared)).await;
    }
    flight.begin();
    let call = user.client.unary(&prepared, &message).await;
    flight.end(call.exchange.ended);
    Box::new(call)
}
