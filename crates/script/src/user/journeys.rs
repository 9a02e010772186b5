//! What scenarios tell of journeys: `start`, `stage` and `finish` of a flow.

use metrics::{FlowEvent, FlowKey, FlowStep, Nanos};
use rquickjs::{Class, Ctx, Exception, Function, Object, Value};

use super::class::User;
use super::home::Home;
use super::response::Response;

/// Puts `flow(number, step, key, since)` on the native object.
pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("flow", Function::new(ctx.clone(), tell)?)
}

/// As `module/flows.ts` numbers them.
pub(crate) fn step(number: i32) -> FlowStep {
    match number {
        -1 => FlowStep::Start,
        -2 => FlowStep::Finish,
        stage => FlowStep::Stage(u8::try_from(stage).unwrap_or(u8::MAX)),
    }
}

fn tell<'js>(ctx: Ctx<'js>, flow: u32, number: i32, key: String, since: Value<'js>) -> rquickjs::Result<()> {
    let Some(home) = ctx.userdata::<Home>() else { return Err(outside(&ctx)) };
    home.realm(&ctx, "a flow")?;
    let at = if since.is_undefined() { home.desk.clock.now() } else { due(&ctx, &since)? };
    home.desk.recorder.borrow_mut().flow(FlowEvent { flow, key: FlowKey::of(&key), step: step(number), at });
    Ok(())
}

/// When the request of a response, or the iteration of a user, was due.
fn due<'js>(ctx: &Ctx<'js>, since: &Value<'js>) -> rquickjs::Result<Nanos> {
    if let Ok(response) = Class::<Response>::from_value(since) {
        return Ok(response.borrow().due());
    }
    let user = Class::<User>::from_value(since).ok().and_then(|user| user.borrow().due());
    user.ok_or_else(|| Exception::throw_type(ctx, "start(…): `since` is a response, or the user while its iteration runs"))
}

pub(crate) fn outside(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, "flows are told of inside scenarios and functions of stubs, not at the top level of the file")
}
