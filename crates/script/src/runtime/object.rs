//! The native side of the user object that a scenario's function receives. Capabilities supply its verbs.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::{Class, Ctx, JsLifetime, Object};

use super::group::Group;
use super::user::UserState;

/// A user, or the same user inside a group.
#[derive(Trace, JsLifetime)]
#[rquickjs::class(rename = "User")]
pub(crate) struct UserObject {
    #[qjs(skip_trace)]
    pub(crate) state: Rc<UserState>,
    /// The group whose function received this object. `None`: the group that is open at the time of a call.
    #[qjs(skip_trace)]
    pub(crate) inside: Option<Rc<Group>>,
}

impl UserObject {
    /// The user object of a user.
    pub(crate) fn make<'js>(ctx: &Ctx<'js>, state: &Rc<UserState>) -> rquickjs::Result<Object<'js>> {
        let user = Class::instance(ctx.clone(), Self { state: Rc::clone(state), inside: None })?.into_inner();
        Self::forget(&user)?;
        Ok(user)
    }

    /// Sets a user's `state` to a new, empty object.
    pub(crate) fn forget(user: &Object<'_>) -> rquickjs::Result<()> {
        user.set("state", Object::new(user.ctx().clone())?)
    }

    /// The prototype of user objects.
    pub(crate) fn prototype<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        Ok(Class::<Self>::prototype(ctx)?.unwrap_or(Object::new(ctx.clone())?))
    }

    /// The group that a step of this object belongs to.
    pub(crate) fn group(&self) -> Option<Rc<Group>> {
        self.inside.clone().or_else(|| self.state.group())
    }
}

#[rquickjs::methods]
impl UserObject {
    #[qjs(get)]
    fn number(&self) -> f64 {
        self.state.number as f64
    }

    #[qjs(get)]
    fn iteration(&self) -> f64 {
        self.state.sequence().unwrap_or(0) as f64
    }

    #[qjs(get)]
    fn scenario(&self) -> String {
        self.state.scenario.name.to_string()
    }

    #[qjs(get)]
    fn random<'js>(&self, ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        self.state.random.object(&ctx).map(Class::into_inner)
    }
}
