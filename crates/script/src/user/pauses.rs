//! `user.pause(…)`, and the waits of `user.pace(…)`, which is TypeScript.

use std::rc::Rc;

use loadstone_metrics::Nanos;
use loadstone_stub::{Delay, DelayError};
use rquickjs::{Ctx, Exception, Persistent, Value};

use crate::runtime::capability::{Capability, ModuleSource, Natives};
use crate::runtime::group::Group;
use crate::runtime::object::UserObject;
use crate::runtime::verb::{self, Verb, VerbArguments};
use crate::unknown_options::{OptionSet, OptionsOfVerb};

pub(super) struct Pauses;

impl Capability for Pauses {
    fn options(&self) -> &'static [OptionsOfVerb] {
        static PACE: OptionSet = OptionSet::new("pace(…)", &["perSecond", "perMinute", "every", "times", "for"]);
        const { &[OptionsOfVerb { verb: "pace", argument: 0, options: &PACE }] }
    }

    fn sources(&self) -> &'static [ModuleSource] {
        &[ModuleSource { id: "loadstone:pace", text: include_str!("pace.ts"), exports: &[] }]
    }

    fn install<'js>(&self, ctx: &Ctx<'js>, natives: &Natives<'js>) -> rquickjs::Result<()> {
        verb::install::<Pause>(ctx, &natives.users)?;
        verb::install::<ReadClock>(ctx, &natives.users)?;
        verb::install::<LoadEnd>(ctx, &natives.users)?;
        verb::install::<SleepUntil>(ctx, &natives.users)
    }
}

struct Pause;

impl Verb for Pause {
    const NAME: &'static str = "pause";
    const ARGUMENTS: usize = 1;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let written = arguments.get(0).as_string().map(|text| text.to_string()).transpose()?;
        let written =
            written.ok_or_else(|| Exception::throw_type(ctx, "pause(…): expected a delay such as \"1s\" or \"uniform(1s, 3s)\""))?;
        let delay: Delay = written.parse().map_err(|error: DelayError| Exception::throw_range(ctx, &error.to_string()))?;
        let state = &user.state;
        let ns = delay.sample_ns(|| state.random.draws().bits());
        wait_until(ctx, user, state.now().saturating_add(ns), None)
    }
}

/// The run's clock, for `pace`. Nanoseconds.
struct ReadClock;

impl Verb for ReadClock {
    const NAME: &'static str = "clock";
    const ARGUMENTS: usize = 0;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, _: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        Ok(Value::new_number(ctx.clone(), user.state.now() as f64))
    }
}

/// When this user's load ends, for `pace`. Nanoseconds.
struct LoadEnd;

impl Verb for LoadEnd {
    const NAME: &'static str = "loadEnd";
    const ARGUMENTS: usize = 0;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, _: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let at = match user.state.load_end() {
            Nanos::MAX => f64::INFINITY,
            at => at as f64,
        };
        Ok(Value::new_number(ctx.clone(), at))
    }
}

/// Waits until an instant of the run's clock, for `pace`. Resolves with the second argument.
struct SleepUntil;

impl Verb for SleepUntil {
    const NAME: &'static str = "sleepUntil";
    const ARGUMENTS: usize = 2;

    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let at = arguments.get(0).as_number().unwrap_or_default();
        wait_until(ctx, user, at.max(0.0) as Nanos, Some(arguments.get(1)))
    }
}

/// A promise that resolves with `value` at an instant.
fn wait_until<'js>(ctx: &Ctx<'js>, object: &UserObject, due: Nanos, value: Option<Value<'js>>) -> rquickjs::Result<Value<'js>> {
    let user = &object.state;
    user.check_running(ctx, "await every step")?;
    let group = object.group();
    let began = user.now();
    Group::pause_began(group.as_ref(), began);
    user.pause_began(began, due);
    let (paused, epoch) = (Rc::clone(user), user.epoch());
    let (worker, timer) = (Rc::clone(&user.worker), user.worker.clock.sleep_until(due));
    let work = async move {
        timer.await;
        let now = worker.clock.now();
        Group::pause_ended(group.as_ref(), now);
        paused.pause_ended(epoch, now);
    };
    let value = value.map(|value| Persistent::save(ctx, value));
    let promise = user.promise(ctx, work, move |ctx, _, ()| match value {
        Some(value) => value.restore(ctx),
        None => Ok(Value::new_undefined(ctx.clone())),
    })?;
    Ok(promise.into_value())
}
