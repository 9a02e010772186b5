//! `user.grpc(…)`: one message out, one back.

use std::rc::Rc;

use protocol::grpc::{GrpcRequest, UnaryCall};
use rquickjs::{Ctx, Exception, Value};

use super::codec::{Encoded, encode};
use super::conclude::{IssuedCall, conclude};
use super::methods::GrpcRealm;
use super::options::GrpcOptions;
use super::state::GrpcUser;
use super::{build, methods::GrpcMethod};
use crate::runtime::object::UserObject;
use crate::runtime::step::{MeasuredStep, StepInFlight};
use crate::runtime::verb::{Verb, VerbArguments};

/// `user.grpc(method, message, options)`.
pub(super) struct CallUnary;

impl Verb for CallUnary {
    const NAME: &'static str = "grpc";
    const ARGUMENTS: usize = 3;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        call(ctx, user, &arguments.get(0), &arguments.get(1), &arguments.get(2))
    }
}

fn call<'js>(
    ctx: &Ctx<'js>,
    object: &UserObject,
    method: &Value<'js>,
    message: &Value<'js>,
    given: &Value<'js>,
) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "await every call")?;
    let realm = user.realm(ctx)?;
    let kept: &GrpcRealm = realm.parts.get();
    let method = build::method(ctx, kept, method)?;
    check_unary(ctx, &method)?;
    let options = GrpcOptions::of_call(ctx, user, given)?;
    let Encoded { bytes, json } = encode(ctx, kept, &method, message)?;
    let timeout_ns = options.timeout_ns.unwrap_or(user.scenario.timeout_ns);
    let client = GrpcUser::of(user);
    let request = build::request(ctx, user, &client, &method, &options, Some(timeout_ns))?;
    let step = MeasuredStep::named(user, object.group(), options.name.as_deref().unwrap_or(&method.name)).with_tags(user, &options.tags);
    step.note_place(ctx, user);
    let followed = user.worker.sinks.exchanges.is_some().then(|| (request.clone(), json));
    let work = perform(step.in_flight(user), client, request, bytes, timeout_ns);
    let issued = IssuedCall { step, method, expect: options.expect, followed };
    let promise = user.promise(ctx, work, move |ctx, user, sent| conclude(ctx, user, issued, sent))?;
    Ok(promise.into_value())
}

fn check_unary(ctx: &Ctx<'_>, method: &GrpcMethod) -> rquickjs::Result<()> {
    if method.is_unary() {
        return Ok(());
    }
    Err(Exception::throw_type(ctx, &format!("{} streams its messages: call it with `user.grpcStream(…)`", method.name)))
}

async fn perform(mut flight: StepInFlight, user: Rc<GrpcUser>, request: GrpcRequest, message: Vec<u8>, timeout_ns: u64) -> Box<UnaryCall> {
    if flight.user().worker.network.limits_connections() {
        Box::pin(user.client.admit(&request.origin)).await;
    }
    flight.begin();
    let call = user.client.unary(&request, &message, timeout_ns).await;
    flight.end(call.exchange.ended);
    Box::new(call)
}
