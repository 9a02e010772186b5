//! The result of `setup(…)`, from the single user that ran it to all others.

use rquickjs::{Ctx, Exception, Function, Object};

use crate::runtime::capability::{Capability, Natives};
use crate::runtime::home::RealmHome;

pub(super) struct SetUpValue;

impl Capability for SetUpValue {
    /// Puts `setUpValue()`, which always throws, on the native object.
    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        natives.native.set("setUpValue", Function::new(ctx.clone(), |ctx: Ctx<'_>| -> rquickjs::Result<String> { Err(missing(&ctx)) })?)
    }

    /// Puts `keepSetUp(json)` and `setUpValue()` on the native object.
    fn install_for_users<'js>(&self, ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
        native.set("keepSetUp", Function::new(ctx.clone(), keep)?)?;
        native.set("setUpValue", Function::new(ctx.clone(), value)?)
    }
}

fn keep(ctx: Ctx<'_>, json: String) {
    if let Some(home) = ctx.userdata::<RealmHome>() {
        home.worker.loaded.store.keep_set_up(json, true);
    }
}

fn value(ctx: Ctx<'_>) -> rquickjs::Result<String> {
    let kept = ctx.userdata::<RealmHome>().and_then(|home| home.worker.loaded.store.set_up().map(str::to_owned));
    kept.ok_or_else(|| missing(&ctx))
}

fn missing(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, "the set-up has no value: it has not ended yet, or it failed; read `.value` inside scenarios")
}
