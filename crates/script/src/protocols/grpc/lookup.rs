//! Finds the method of a call before it begins; where the server has to describe it first, the call begins after that.

use std::rc::Rc;

use rquickjs::{Ctx, Exception, Persistent, Value};

use super::build;
use super::methods::{GrpcMethod, GrpcRealm, service_of};
use super::options::GrpcOptions;
use super::reflection;
use super::state::GrpcUser;
use crate::protocols::options::text;
use crate::runtime::group::Group;
use crate::runtime::user::UserState;

/// What a script called with.
pub(super) struct AskedCall<'js> {
    pub(super) name: Value<'js>,
    pub(super) message: Value<'js>,
    pub(super) options: Value<'js>,
    pub(super) group: Option<Rc<Group>>,
}

/// Reads the options of a call.
type ReadOptions = for<'js> fn(&Ctx<'js>, &UserState, &Value<'js>) -> rquickjs::Result<GrpcOptions>;

/// Begins a call whose method is known.
type Begin =
    for<'js> fn(&Ctx<'js>, &Rc<UserState>, Rc<GrpcMethod>, &Value<'js>, GrpcOptions, Option<Rc<Group>>) -> rquickjs::Result<Value<'js>>;

/// Begins a call once its method is known.
///
/// # Errors
/// Throws what is wrong with the name, the message or the options.
pub(super) fn with_method<'js>(
    ctx: &Ctx<'js>,
    user: &Rc<UserState>,
    asked: AskedCall<'js>,
    read: ReadOptions,
    begin: Begin,
) -> rquickjs::Result<Value<'js>> {
    let name = text(ctx, &asked.name, "the name of the call")?;
    let realm = user.realm(ctx)?;
    let kept: &GrpcRealm = realm.parts.get();
    let options = read(ctx, user, &asked.options)?;
    let service = service_of(&name).filter(|_| user.worker.loaded.settings.grpc_reflection && !kept.knows_service(&name));
    let Some(service) = service.map(str::to_owned) else {
        return begin(ctx, user, kept.method(ctx, &name)?, &asked.message, options, asked.group);
    };
    let client = GrpcUser::of(user);
    let request = build::request(ctx, user, &client, (&"/".into(), &name), &options, None)?;
    let (turn, timeout_ns) = (Rc::clone(&kept.reflection), user.scenario.timeout_ns);
    let (message, group) = (Persistent::save(ctx, asked.message), asked.group);
    let (learner, wanted) = (Rc::clone(&realm), name.clone());
    let work = async move {
        let _turn = turn.lock().await;
        let kept: &GrpcRealm = learner.parts.get();
        if kept.knows_service(&wanted) {
            return Ok(());
        }
        reflection::describe(&client, request, &service, timeout_ns).await.map(|pool| kept.learn(pool))
    };
    let promise = user.promise(ctx, work, move |ctx, user, described: Result<(), String>| {
        described.map_err(|problem| Exception::throw_message(ctx, &problem))?;
        let realm = user.realm(ctx)?;
        let kept: &GrpcRealm = realm.parts.get();
        begin(ctx, user, kept.method(ctx, &name)?, &message.restore(ctx)?, options, group)
    })?;
    Ok(promise.into_value())
}
