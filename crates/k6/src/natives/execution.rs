//! `k6/execution`: where the running code is in the test.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use rquickjs::{Ctx, Function, IntoJs, Object, Value};

use crate::realm_inputs::RealmInputs;
use crate::turn::{Turn, uncatchable};

pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, world: &RealmInputs) -> rquickjs::Result<()> {
    native.set("vuInTest", world.id_in_test as f64)?;
    native.set("options", &*world.options)?;
    native.set("position", Function::new(ctx.clone(), position)?)?;
    native.set("instance", Function::new(ctx.clone(), instance)?)?;
    native.set("tags", Function::new(ctx.clone(), tags)?)?;
    native.set("tag", Function::new(ctx.clone(), tag)?)?;
    native.set("abort", Function::new(ctx.clone(), abort)?)?;
    native.set("fail", Function::new(ctx.clone(), fail)?)
}

/// The running iteration, as an object.
fn position<'js>(ctx: Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let turn = Turn::running(&ctx, "k6/execution")?;
    let position = Object::new(ctx.clone())?;
    let now = turn.now();
    let (sequence, number, in_scenario, began) = turn
        .running_iteration(|running| (running.iteration.arrival.sequence, running.number, running.number_in_scenario, running.began))
        .unwrap_or_default();
    let stripe = turn.vu().scenario().and_then(|scenario| scenario.stripe.as_ref());
    position.set("iterationInTest", stripe.map_or(sequence, |stripe| stripe.number(sequence)) as f64)?;
    position.set("iterationOfScenarioHere", sequence as f64)?;
    position.set("iterationInInstance", number as f64)?;
    position.set("iterationInScenario", in_scenario as f64)?;
    position.set("sinceStart", now as f64 / 1e6)?;
    position.set("sinceIteration", (now - began) as f64 / 1e6)?;
    if let Some(scenario) = turn.vu().scenario() {
        position.set("scenario", scenario.name.as_str())?;
        position.set("executor", scenario.executor.as_str())?;
        position.set("startAfter", (scenario.run.start_after_ns - scenario.first_arrival_ns) as f64 / 1e6)?;
        if let Some(duration_ns) = scenario.run.profile.duration_ns() {
            position.set("duration", (duration_ns + scenario.first_arrival_ns) as f64 / 1e6)?;
        }
    }
    Ok(position)
}

/// Completed and interrupted iterations, active and initialised VUs.
fn instance(ctx: Ctx<'_>) -> rquickjs::Result<Vec<u64>> {
    let counts = Turn::running(&ctx, "exec.instance")?.vu().worker.test.instance();
    Ok(vec![counts.iterations_completed, counts.iterations_interrupted, counts.vus_active, counts.vus_initialized])
}

/// The VU's tags.
fn tags<'js>(ctx: Ctx<'js>) -> rquickjs::Result<Value<'js>> {
    let turn = Turn::of(&ctx)?;
    let tags = turn.vu().tags.borrow().clone();
    let object = Object::new(ctx.clone())?;
    for (name, value) in tags {
        object.set(name, value)?;
    }
    let system = &turn.vu().worker.test.settings.system_tags;
    if let Some(scenario) = turn.vu().scenario().filter(|_| system.contains("scenario")) {
        object.set("scenario", scenario.name.as_str())?;
    }
    if system.contains("group") {
        object.set("group", turn.group_path())?;
    }
    object.into_js(&ctx)
}

/// Sets a tag of the VU, or removes it.
fn tag(ctx: Ctx<'_>, name: String, value: Option<String>) -> rquickjs::Result<()> {
    let turn = Turn::of(&ctx)?;
    let mut tags = turn.vu().tags.borrow_mut();
    match value {
        Some(value) => tags.insert(name, value),
        None => tags.remove(&name),
    };
    Ok(())
}

/// Marks the run as failed. It goes on.
fn fail(ctx: Ctx<'_>, message: String) -> rquickjs::Result<()> {
    let turn = Turn::of(&ctx)?;
    let worker = &turn.vu().worker;
    if !worker.test.shared.marked_failed.swap(true, Ordering::Relaxed)
        && let Some(console) = &worker.sinks.console
    {
        console(&format!("the script marked the run as failed: {message}"));
    }
    Ok(())
}

/// Ends the run, and this iteration.
fn abort(ctx: Ctx<'_>, message: String) -> rquickjs::Result<()> {
    let turn = Turn::of(&ctx)?;
    if let Some(abort) = turn.vu().worker.sinks.abort.as_ref().map(Rc::clone) {
        turn.vu().worker.test.shared.aborted.store(true, Ordering::Relaxed);
        abort(&message);
    }
    turn.vu().set_interrupted(true);
    Err(uncatchable(&ctx))
}
