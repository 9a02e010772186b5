//! Finds the method of a call before it begins. If the server must describe the method first, the call begins after that.

use std::rc::Rc;

use rquickjs::{Ctx, Exception, Persistent, Value};

use super::build;
use super::methods::{GrpcMethod, GrpcRealm, service_of};
use super::options::GrpcOptions;
use super::reflection;
use super::state::GrpcUser;
use crate::protocols::options::text;
use crate::runtime::group::Group;
use crate::runtime::step::MeasuredStep;
use crate::runtime::user::UserState;

/// The arguments of a call.
pub(super) struct AskedCall<'js> {
    pub(super) name: Value<'js>,
    pub(super) message: Value<'js>,
    pub(super) options: Value<'js>,
    pub(super) group: Option<Rc<Group>>,
}

/// Reads the options of a call.
type ReadOptions = for<'js> fn(&Ctx<'js>, &UserState, &Value<'js>) -> rquickjs::Result<GrpcOptions>;

/// Begins a call whose method is known.
pub(super) type Begin =
    for<'js> fn(&Ctx<'js>, &Rc<UserState>, Rc<GrpcMethod>, &Value<'js>, GrpcOptions, Option<Rc<Group>>) -> rquickjs::Result<Value<'js>>;

/// `Service/Method`: the name of a call whose arguments cannot be sent.
pub(super) fn refused_name(method: &Value<'_>) -> String {
    let written = method.as_string().and_then(|text| text.to_string().ok()).unwrap_or_default();
    match written.trim_start_matches('/').split_once('/') {
        Some((service, method)) => format!("{}/{method}", service.rsplit('.').next().unwrap_or(service)),
        None => "gRPC".to_owned(),
    }
}

/// Begins a call once its method is known: with the first function if it is known at once, with the second one if not.
///
/// # Errors
/// Throws the problem with the name, the message or the options.
pub(super) fn with_method<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    asked: AskedCall<'js>,
    read: ReadOptions,
    (at_once, later): (Begin, Begin),
) -> rquickjs::Result<Value<'js>> {
    let name = text(ctx, &asked.name, "the name of the call")?;
    let realm = user.realm(ctx)?;
    let grpc: &GrpcRealm = realm.parts.get();
    let options = read(ctx, user, &asked.options)?;
    let service = service_of(&name).filter(|_| user.worker.loaded.settings.grpc_reflection && !grpc.knows_service(&name));
    let Some(service) = service.map(str::to_owned) else {
        return at_once(ctx, user, grpc.method(ctx, &name)?, &asked.message, options, asked.group);
    };
    let client = GrpcUser::of(user);
    let request = build::request(ctx, user, &client, (&"/".into(), &name), &options, None)?;
    let shown = options.name.clone().unwrap_or_else(|| refused_name(&asked.name));
    let (turn, timeout_ns) = (Rc::clone(&grpc.reflection), user.scenario.timeout_ns);
    let (message, group) = (Persistent::save(ctx, asked.message), asked.group);
    let (learner, wanted) = (Rc::clone(&realm), name.clone());
    let work = async move {
        let _turn = turn.lock().await;
        let grpc: &GrpcRealm = learner.parts.get();
        if grpc.knows_service(&wanted) {
            return Ok(());
        }
        reflection::describe(&client.client, request, &service, timeout_ns).await.map(|pool| grpc.learn(pool))
    };
    let promise = user.promise(ctx, work, move |ctx, user, described: Result<(), String>| {
        described.map_err(|problem| Exception::throw_message(ctx, &problem))?;
        let realm = user.realm(ctx)?;
        let grpc: &GrpcRealm = realm.parts.get();
        let message = message.restore(ctx)?;
        let step = || MeasuredStep::named(user, group.clone(), &shown);
        user.refusing(ctx, step, || later(ctx, user, grpc.method(ctx, &name)?, &message, options, group.clone()))
    })?;
    Ok(promise.into_value())
}
