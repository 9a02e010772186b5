//! `setTimeout`, `setInterval` and the functions that clear them, on the run's clock.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use rquickjs::function::{Args, Opt, Rest};
use rquickjs::{Ctx, Exception, Function, Object, Persistent, Value};

use crate::runtime::capability::Capability;
use crate::runtime::home::RealmHome;
use crate::runtime::operation::OperationSlot;
use crate::runtime::owner::{Cancel, Owner};
use crate::runtime::parts::StateParts;
use crate::runtime::promise::settling;
use crate::runtime::realm::RealmState;
use crate::runtime::worker::WorkerState;

/// The limit of browsers and Node.js, which treat longer times as zero. Milliseconds.
const LONGEST_MS: f64 = 2_147_483_647.0;

pub(super) struct TimerFunctions;

impl Capability for TimerFunctions {
    fn install_for_users<'js>(&self, ctx: &Ctx<'js>, _: &Object<'js>) -> rquickjs::Result<()> {
        let globals = ctx.globals();
        globals.set("setTimeout", Function::new(ctx.clone(), set_timeout)?)?;
        globals.set("setInterval", Function::new(ctx.clone(), set_interval)?)?;
        globals.set("clearTimeout", Function::new(ctx.clone(), clear)?)?;
        globals.set("clearInterval", Function::new(ctx.clone(), clear)?)
    }

    fn open_realm(&self, _: &Ctx<'_>, parts: &mut StateParts) -> rquickjs::Result<()> {
        parts.insert(TimerIds { slots: RefCell::default(), next: Cell::new(1) });
        Ok(())
    }
}

/// The timers of one realm that have not ended, by the numbers that scripts have.
struct TimerIds {
    slots: RefCell<HashMap<u32, Weak<OperationSlot>>>,
    next: Cell<u32>,
}

/// The call of a timer. Repeated if it has an interval.
struct TimerCall {
    id: u32,
    run: Persistent<Function<'static>>,
    arguments: Vec<Persistent<Value<'static>>>,
    /// Nanoseconds.
    interval_ns: Option<u64>,
    worker: Rc<WorkerState>,
    owner: Option<Rc<dyn Owner>>,
    realm: Weak<RealmState>,
}

fn set_timeout<'js>(ctx: Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>) -> rquickjs::Result<u32> {
    set(&ctx, run, ms, arguments, false)
}

fn set_interval<'js>(ctx: Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>) -> rquickjs::Result<u32> {
    set(&ctx, run, ms, arguments, true)
}

fn set<'js>(ctx: &Ctx<'js>, run: Function<'js>, ms: Opt<f64>, arguments: Rest<Value<'js>>, repeats: bool) -> rquickjs::Result<u32> {
    let Some(home) = ctx.userdata::<RealmHome>() else {
        return Err(Exception::throw_message(ctx, "timers work inside scenarios, not at the top level of the file"));
    };
    let realm = home.realm(ctx, "a timer")?;
    // An interval of zero would block the worker, so intervals last at least a millisecond, as in Node.js.
    let least = if repeats { 1.0 } else { 0.0 };
    let ms = ms.0.filter(|ms| !ms.is_nan()).unwrap_or(0.0).max(least);
    if ms > LONGEST_MS {
        let of = if repeats { "setInterval" } else { "setTimeout" };
        return Err(Exception::throw_range(ctx, &format!("{of}: {ms} ms is longer than the limit of {LONGEST_MS} ms, which is 24.8 days")));
    }
    let ns = (ms * 1e6) as u64;
    let ids: &TimerIds = realm.parts.get();
    let id = ids.next.get();
    ids.next.set(id.wrapping_add(1).max(1));
    TimerCall {
        id,
        run: Persistent::save(ctx, run),
        arguments: arguments.0.into_iter().map(|value| Persistent::save(ctx, value)).collect(),
        interval_ns: repeats.then_some(ns),
        worker: Rc::clone(&home.worker),
        owner: home.worker.current.borrow().clone(),
        realm: Rc::downgrade(&realm),
    }
    .submit(&realm, ns);
    Ok(id)
}

fn clear(ctx: Ctx<'_>, id: Opt<Value<'_>>) {
    let id = id.0.and_then(|value| value.as_number()).map(|number| number as u32);
    let Some(realm) = ctx.userdata::<RealmHome>().and_then(|home| home.opened()) else { return };
    let ids: &TimerIds = realm.parts.get();
    let timer = id.and_then(|id| ids.slots.borrow_mut().remove(&id));
    if let Some(slot) = timer.and_then(|slot| slot.upgrade()) {
        slot.cancel();
    }
}

impl TimerCall {
    /// Waits for a number of nanoseconds, then calls the function.
    fn submit(self, realm: &Rc<RealmState>, ns: u64) {
        let (worker, owner, id) = (Rc::clone(&self.worker), self.owner.clone(), self.id);
        let timer = worker.clock.sleep(ns);
        let slot = worker.submit(settling(timer, move |ctx: &Ctx<'_>, _| self.call(ctx)), owner.clone(), realm);
        if let Some(owner) = owner {
            owner.track(Rc::downgrade(&slot) as _);
        }
        let mut slots = realm.parts.get::<TimerIds>().slots.borrow_mut();
        if slots.len().is_power_of_two() {
            slots.retain(|_, slot| slot.strong_count() > 0);
        }
        slots.insert(id, Rc::downgrade(&slot));
    }

    fn call(self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let run = self.run.clone().restore(ctx)?;
        let mut arguments = Args::new(ctx.clone(), self.arguments.len());
        for value in &self.arguments {
            arguments.push_arg(value.clone().restore(ctx)?)?;
        }
        // Before the function, which may clear it.
        if let (Some(ns), Some(realm)) = (self.interval_ns, self.realm.upgrade()) {
            self.submit(&realm, ns);
        }
        run.call_arg(arguments)
    }
}
