//! `user.replay(…)`, which is TypeScript, and the recorded request that it sends.

use std::sync::Arc;

use rquickjs::{Ctx, Exception, IntoJs, Object, TypedArray, Value};

use crate::error::ScriptError;
use crate::loaded::Loaded;
use crate::replay::{LoggedRequest, Replay};
use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::object::UserObject;
use crate::runtime::parts::StateParts;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::unknown_options::OptionsOfVerb;

pub(super) struct Replays;

/// The record of a scenario, if it has one.
struct ScenarioRecord(Option<Arc<Replay>>);

impl Capability for Replays {
    fn options(&self) -> &'static [OptionsOfVerb] {
        const { &[OptionsOfVerb { verb: "replay", argument: 0, options: &crate::protocols::REQUEST_OPTIONS }] }
    }

    fn sources(&self) -> &'static [ModuleSource] {
        &[ModuleSource { id: "loadstone:replay", text: include_str!("replay.ts"), exports: &[] }]
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<RecordedRequest>(ctx, &natives.users)
    }

    fn open_scenario(&self, loaded: &Loaded, index: usize, parts: &mut StateParts) -> Result<(), ScriptError> {
        let record = loaded.replays.iter().find(|(scenario, _)| scenario.0 as usize == index);
        parts.insert(ScenarioRecord(record.map(|(_, replay)| Arc::clone(replay))));
        Ok(())
    }
}

/// The recorded request with the number of this iteration.
struct RecordedRequest;

impl Verb for RecordedRequest {
    const NAME: &'static str = "recordedRequest";
    const ARGUMENTS: usize = 0;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, _: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let state = &user.state;
        let Some(replay) = &state.scenario.parts.get::<ScenarioRecord>().0 else {
            return Err(Exception::throw_type(ctx, "replay(): this scenario has no record: run it with `arrivals.replay(\"access.log\")`"));
        };
        let number = state.sequence().unwrap_or(0);
        let LoggedRequest { method, target, headers, body } =
            replay.request(number).map_err(|problem| Exception::throw_message(ctx, &format!("replay(): {problem}")))?;
        let request = Object::new(ctx.clone())?;
        let fields = Object::new(ctx.clone())?;
        headers.into_iter().try_for_each(|(name, value)| fields.set(name, value))?;
        request.set("method", method)?;
        request.set("target", target)?;
        request.set("headers", fields)?;
        if body.is_empty() {
            request.set("body", Value::new_null(ctx.clone()))?;
        } else {
            request.set("body", TypedArray::<u8>::new(ctx.clone(), body)?)?;
        }
        request.into_js(ctx)
    }
}
