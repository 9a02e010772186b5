//! `user.log(…)` and `user.fail(…)`: messages of a scenario.

use rquickjs::function::Rest;
use rquickjs::{Coerced, Ctx, Exception, FromJs, Function, Object, Value};

use crate::globals::console::ConsoleLevel;
use crate::runtime::capability::{Capability, Natives};
use crate::runtime::object::UserObject;
use crate::runtime::owner::Owner;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::sinks::ConsoleLine;

pub(super) struct Logging;

impl Capability for Logging {
    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<WriteLine>(ctx, &natives.users)?;
        verb::install::<Fail>(ctx, &natives.users)
    }
}

/// Writes a line to the console, with the user's name.
struct WriteLine;

impl Verb for WriteLine {
    const NAME: &'static str = "log";
    const ARGUMENTS: usize = 0;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        if let Some(console) = &user.state.worker.sinks.console {
            let native: Object<'js> = ctx.globals().get("__loadstone")?;
            let format: Function<'js> = native.get("format")?;
            let text: String = format.call((Rest(arguments.all()),))?;
            console(&ConsoleLine { level: ConsoleLevel::Info, text, user: Some(user.state.label()) });
        }
        Ok(Value::new_undefined(ctx.clone()))
    }
}

/// Ends the iteration as failed.
struct Fail;

impl Verb for Fail {
    const NAME: &'static str = "fail";
    const ARGUMENTS: usize = 1;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        user.state.declare_failed();
        let message = Coerced::<String>::from_js(ctx, arguments.get(0))?.0;
        Err(Exception::throw_message(ctx, &message))
    }
}
