//! `setTimeout`, `setInterval` and their likes, on the run's clock.

use std::rc::Rc;

use rquickjs::function::{Args, Opt, Rest};
use rquickjs::{Ctx, Exception, Function, Persistent, Value};

use super::home::Home;
use crate::crew::op::Then;
use crate::crew::waiting;

/// Browsers and Node.js treat longer times as none; an hour of a test is long enough to say so instead. Milliseconds.
const LONGEST_MS: f64 = 2_147_483_647.0;

/// Puts the timer functions on the realm's global object.
pub(super) fn install(ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    let globals = ctx.globals();
    globals.set("setTimeout", Function::new(ctx.clone(), set_timeout)?)?;
    globals.set("setInterval", Function::new(ctx.clone(), set_interval)?)?;
    globals.set("clearTimeout", Function::new(ctx.clone(), clear)?)?;
    globals.set("clearInterval", Function::new(ctx.clone(), clear)?)
}

fn set_timeout<'js>(ctx: Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>) -> rquickjs::Result<u32> {
    set(&ctx, run, ms, arguments, false)
}

fn set_interval<'js>(ctx: Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>) -> rquickjs::Result<u32> {
    set(&ctx, run, ms, arguments, true)
}

fn set<'js>(ctx: &Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>, repeats: bool) -> rquickjs::Result<u32> {
    let Some(home) = ctx.userdata::<Home>() else {
        return Err(Exception::throw_message(ctx, "timers work inside scenarios, not at the top level of the file"));
    };
    let realm = home.realm(ctx, "a timer")?;
    // An interval of nothing would keep the worker from all else, so intervals last a millisecond at least, as in Node.js.
    let least = if repeats { 1.0 } else { 0.0 };
    let ms = ms.0.filter(|ms| ms.is_finite()).unwrap_or(0.0).clamp(least, LONGEST_MS);
    let ns = (ms * 1e6) as u64;
    let then = Then::Call {
        run: Persistent::save(ctx, run),
        arguments: arguments.0.into_iter().map(|value| Persistent::save(ctx, value)).collect(),
        interval_ns: repeats.then_some(ns),
    };
    let user = home.desk.current.borrow().clone();
    let slot = home.desk.submit(waiting(&home.desk, ns), then, user.as_ref(), &realm);
    if let Some(user) = user {
        user.track(&slot);
    }
    let id = home.timer_next.get();
    home.timer_next.set(id.wrapping_add(1).max(1));
    let mut timers = home.timers.borrow_mut();
    if timers.len().is_power_of_two() {
        timers.retain(|_, slot| slot.strong_count() > 0);
    }
    timers.insert(id, Rc::downgrade(&slot));
    Ok(id)
}

fn clear(ctx: Ctx<'_>, id: Opt<Value<'_>>) {
    let id = id.0.and_then(|value| value.as_number()).map(|number| number as u32);
    let Some(home) = ctx.userdata::<Home>() else { return };
    let timer = id.and_then(|id| home.timers.borrow_mut().remove(&id));
    if let Some(slot) = timer.and_then(|slot| slot.upgrade()) {
        slot.cancel();
    }
}

/// Calls a timer's function.
pub(crate) fn call_timer<'js>(
    ctx: &Ctx<'js>,
    run: Persistent<Function<'static>>,
    arguments: Vec<Persistent<Value<'static>>>,
) -> rquickjs::Result<()> {
    let run = run.restore(ctx)?;
    let mut args = Args::new(ctx.clone(), arguments.len());
    for value in arguments {
        args.push_arg(value.restore(ctx)?)?;
    }
    run.call_arg(args)
}
