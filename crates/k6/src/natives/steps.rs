//! `sleep`, `check`, `group`, timers.

use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_script::TracedCheck;
use rquickjs::{Ctx, Function, Object, Value};

use super::metrics::{call_tags, tags_of};
use crate::turn::Turn;

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
    native.set("sleep", Function::new(ctx.clone(), sleep)?)?;
    native.set("check", Function::new(ctx.clone(), check)?)?;
    native.set("enterGroup", Function::new(ctx.clone(), enter_group)?)?;
    native.set("leaveGroup", Function::new(ctx.clone(), leave_group)?)?;
    native.set("timer", Function::new(ctx.clone(), timer)?)?;
    native.set("stopTimer", Function::new(ctx.clone(), stop_timer)?)
}

fn sleep(ctx: Ctx<'_>, seconds: f64) -> rquickjs::Result<()> {
    let mut turn = Turn::running(&ctx, "sleep")?;
    if seconds.is_nan() || seconds <= 0.0 {
        return Ok(());
    }
    let ns = (seconds * 1e9) as u64;
    turn.prepare_wait(ns);
    let timer = turn.vu().worker.clock.sleep(ns);
    turn.wait(&ctx, timer)
}

/// A promise's timer: its completion calls `__k6.complete(id)`.
fn timer(ctx: Ctx<'_>, id: u32, ms: f64) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, "a timer")?;
    let sleep = turn.vu().worker.clock.sleep((ms.max(0.0) * 1e6) as u64);
    turn.vu().operations().begin_timer(id, sleep);
    Ok(())
}

/// Ends a timer at once, if `id` is one that waits. What it would have called stays registered.
fn stop_timer(ctx: Ctx<'_>, id: Value<'_>) -> rquickjs::Result<bool> {
    // As in k6, anything may be cleared, at the top level of the script, too.
    if !Turn::is_running(&ctx) {
        return Ok(false);
    }
    let turn = Turn::of(&ctx)?;
    Ok(id.as_number().is_some_and(|id| turn.vu().operations().stop_timer(id as u32)))
}

fn check<'js>(ctx: Ctx<'js>, name: String, passed: bool, tags: Option<Object<'js>>) -> rquickjs::Result<()> {
    let turn = Turn::running(&ctx, "check")?;
    let tags = tags_of(tags)?;
    let (group, scenario, now) = (turn.group(), turn.scenario_id(), turn.now());
    let worker = &turn.vu().worker;
    if let Some(show) = &worker.sinks.checks {
        show(&TracedCheck { scenario: worker.test.scenario_name(scenario), name: &name, holds: passed });
    }
    let mut recorder = turn.recorder();
    let series = worker.series(&mut recorder, SeriesKind::Check, scenario, &group, &name);
    recorder.check(series, passed);
    if !passed {
        recorder.error(series, Outcome::Expect, now, "the check failed");
    }
    if worker.test.settings.system_tags.contains("check") {
        worker.count_steps(|steps| steps.check(&turn.group_path(), &name, passed));
    }
    if let Some(metric) = worker.test.metric("checks") {
        let (of_check, of_call) = ([("check", name.as_str().into())], call_tags(&tags));
        worker.record(&mut recorder, metric, f64::from(u8::from(passed)), &turn.vu().tag_of(&of_check, &of_call));
    }
    Ok(())
}

fn enter_group(ctx: Ctx<'_>, name: String) -> rquickjs::Result<()> {
    Turn::running(&ctx, "group")?.enter_group(&name);
    Ok(())
}

fn leave_group(ctx: Ctx<'_>) -> rquickjs::Result<()> {
    Turn::running(&ctx, "group")?.leave_group();
    Ok(())
}
