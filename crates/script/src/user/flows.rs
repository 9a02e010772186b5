//! Events of flows in scenarios: `start`, `stage` and `finish` of a journey.

use loadstone_metrics::{FlowEvent, FlowKey, FlowStep, Nanos};
use rquickjs::{Class, Ctx, Exception, Function, Object, Value};

use crate::protocols::PROTOCOLS;
use crate::runtime::capability::Capability;
use crate::runtime::home::RealmHome;
use crate::runtime::object::UserObject;

pub(super) struct Flows;

impl Capability for Flows {
    /// Puts `flow(number, step, key, since)` on the native object.
    fn install_for_users<'js>(&self, ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
        native.set("flow", Function::new(ctx.clone(), record)?)
    }
}

/// As `module/flows.ts` numbers them.
pub(crate) fn step(number: i32) -> FlowStep {
    match number {
        -1 => FlowStep::Start,
        -2 => FlowStep::Finish,
        stage => FlowStep::Stage(u8::try_from(stage).unwrap_or(u8::MAX)),
    }
}

fn record<'js>(ctx: Ctx<'js>, flow: u32, number: i32, key: String, since: Value<'js>) -> rquickjs::Result<()> {
    let Some(home) = ctx.userdata::<RealmHome>() else { return Err(outside(&ctx)) };
    home.realm(&ctx, "a flow")?;
    let at = if since.is_undefined() { home.worker.clock.now() } else { due(&ctx, &since)? };
    home.worker.recorder.borrow_mut().flow(FlowEvent { flow, key: FlowKey::of(&key), step: step(number), at });
    Ok(())
}

/// When the request of a response, or the iteration of a user, was due.
fn due<'js>(ctx: &Ctx<'js>, since: &Value<'js>) -> rquickjs::Result<Nanos> {
    if let Some(due) = PROTOCOLS.iter().find_map(|protocol| protocol.due_of(since)) {
        return Ok(due);
    }
    let user = Class::<UserObject>::from_value(since).ok().and_then(|user| user.borrow().state.scheduled());
    user.ok_or_else(|| Exception::throw_type(ctx, "start(…): `since` must be a response, or the user while its iteration runs"))
}

pub(crate) fn outside(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, "record flows inside scenarios and stub functions, not at the top level of the file")
}
