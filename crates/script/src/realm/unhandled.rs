//! Promises that were rejected without a handler, most often because of a missing `await`.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Runtime, Value};

use super::awaited::{Awaited, address_of};
use super::failure::describe;
use crate::compile::Program;
use crate::error::ScriptError;

/// Maximum number of rejections stored until they are reported. Further ones are probably similar.
const REJECTIONS_MAX: usize = 64;

type Rejected = (Persistent<Value<'static>>, Persistent<Value<'static>>);

/// Promises and reasons, in the order of their rejection. Drop it before the runtime it watches.
#[derive(Clone, Default)]
pub(super) struct Unhandled(Rc<RefCell<Vec<Rejected>>>);

impl Unhandled {
    /// `awaited`: promises whose rejection a waiter handles.
    pub(super) fn watch(runtime: &Runtime, awaited: &Rc<Awaited>) -> Self {
        let unhandled = Self::default();
        // Weak: the runtime owns the tracker, and must not own values of the same runtime.
        let (list, awaited) = (Rc::downgrade(&unhandled.0), Rc::downgrade(awaited));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled| {
            let Some(list) = list.upgrade() else { return };
            let mut list = list.borrow_mut();
            let expected = awaited.upgrade().is_some_and(|awaited| awaited.has(&promise));
            let promise = Persistent::save(&ctx, promise);
            if handled {
                list.retain(|(known, _)| *known != promise);
            } else if expected || list.len() < REJECTIONS_MAX {
                list.push((promise, Persistent::save(&ctx, reason)));
            }
        })));
        unhandled
    }

    /// Notifies the waiters of their promises, and returns the errors without a waiter.
    pub(super) fn take(&self, ctx: &Ctx<'_>, program: &Program, awaited: &Awaited) -> Vec<ScriptError> {
        if self.0.borrow().is_empty() {
            return Vec::new();
        }
        let rejected = std::mem::take(&mut *self.0.borrow_mut());
        let described = rejected.into_iter().filter_map(|(promise, reason)| {
            let reason = reason.restore(ctx).unwrap_or_else(|_| Value::new_undefined(ctx.clone()));
            if let Some(who) = promise.restore(ctx).ok().and_then(|promise| awaited.take(address_of(&promise))) {
                who.rejected(ctx, &reason);
                return None;
            }
            let error = describe(ctx, program, &reason);
            let help = "a promise was rejected and no code awaited it: add `await`, or handle it with `catch`";
            Some(ScriptError { message: format!("unhandled rejection: {}", error.message), ..error }.help(help))
        });
        described.collect()
    }
}
