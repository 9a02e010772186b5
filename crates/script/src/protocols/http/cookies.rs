//! `user.cookies`.

use std::rc::Rc;

use rquickjs::class::Trace;
use rquickjs::function::{Opt, This};
use rquickjs::object::Accessor;
use rquickjs::{Class, Ctx, Exception, JsLifetime, Object};
use url::Url;

use super::state::{HttpScenario, HttpUser};
use crate::runtime::object::UserObject;
use crate::runtime::user::UserState;

/// Puts `cookies` on the prototype of users.
pub(super) fn install(users: &Object<'_>) -> rquickjs::Result<()> {
    users.prop("cookies", Accessor::new_get(cookies).configurable().enumerable())
}

fn cookies<'js>(this: This<Class<'js, UserObject>>, ctx: Ctx<'js>) -> rquickjs::Result<Class<'js, Cookies>> {
    let user = Rc::clone(&this.borrow().state);
    Class::instance(ctx, Cookies { user })
}

/// The cookies of one user.
#[derive(Trace, JsLifetime)]
#[rquickjs::class]
pub(crate) struct Cookies {
    #[qjs(skip_trace)]
    user: Rc<UserState>,
}

impl Cookies {
    fn site(&self, ctx: &Ctx<'_>, url: Opt<Option<String>>) -> rquickjs::Result<Url> {
        let written = url.0.flatten().unwrap_or_else(|| "/".to_owned());
        HttpScenario::of(&self.user).url(&written).map_err(|error| Exception::throw_message(ctx, &error.to_string()))
    }
}

#[rquickjs::methods]
impl Cookies {
    fn get(&self, ctx: Ctx<'_>, name: String, url: Opt<Option<String>>) -> rquickjs::Result<Option<String>> {
        Ok(HttpUser::of(&self.user).session.cookie(&self.site(&ctx, url)?, &name))
    }

    fn set(&self, ctx: Ctx<'_>, name: String, value: String, url: Opt<Option<String>>) -> rquickjs::Result<()> {
        let site = self.site(&ctx, url)?;
        let worker = &self.user.worker;
        worker.learnt.of_header(&worker.loaded.plan.secrets, "Cookie", &format!("{name}={value}"));
        let set = HttpUser::of(&self.user).session.set_cookie(&site, &name, &value);
        set.map_err(|problem| Exception::throw_type(&ctx, &format!("cookies.set(\"{name}\", …): {problem}")))
    }

    fn clear(&self) {
        HttpUser::of(&self.user).session.clear_cookies();
    }
}
