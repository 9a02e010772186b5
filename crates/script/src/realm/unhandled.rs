//! Promises that were rejected and that nobody handled: a forgotten `await`, most often.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Ctx, Persistent, Runtime, Value};

use super::awaited::{Awaited, address_of};
use super::failure::describe;
use crate::compile::Program;
use crate::error::ScriptError;

/// Most rejections that are kept until they are reported; further ones are of a kind.
const KEPT_MAX: usize = 64;

type Rejected = (Persistent<Value<'static>>, Persistent<Value<'static>>);

/// Promises and reasons, in the order of their rejection. Drop it before the runtime it watches.
#[derive(Clone, Default)]
pub(super) struct Unhandled(Rc<RefCell<Vec<Rejected>>>);

impl Unhandled {
    /// `awaited`: promises whose rejection is somebody's affair.
    pub(super) fn watch(runtime: &Runtime, awaited: &Rc<Awaited>) -> Self {
        let unhandled = Self::default();
        // Weak: the runtime owns the tracker, and must not own values of itself.
        let (list, awaited) = (Rc::downgrade(&unhandled.0), Rc::downgrade(awaited));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled| {
            let Some(list) = list.upgrade() else { return };
            let mut list = list.borrow_mut();
            let expected = awaited.upgrade().is_some_and(|awaited| awaited.has(&promise));
            let promise = Persistent::save(&ctx, promise);
            if handled {
                list.retain(|(known, _)| *known != promise);
            } else if expected || list.len() < KEPT_MAX {
                list.push((promise, Persistent::save(&ctx, reason)));
            }
        })));
        unhandled
    }

    /// Tells those who wait of their promises, and returns the errors that nobody waits for.
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
            let help = "a promise was rejected and nobody awaited it: add `await`, or handle it with `catch`";
            Some(ScriptError { message: format!("unhandled rejection: {}", error.message), ..error }.help(help))
        });
        described.collect()
    }
}
