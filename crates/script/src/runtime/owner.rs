//! The owner of running script code, as far as the driver must know it.

use std::rc::{Rc, Weak};

use rquickjs::Ctx;

use super::realm::RealmState;
use crate::error::ScriptError;

/// The owner of an operation and of running code: a user.
pub(crate) trait Owner {
    /// Scenario and number, for console lines.
    fn label(&self) -> (Rc<str>, u64);

    /// Its code left an unhandled error.
    fn report(&self, error: &ScriptError);

    /// The call into the realm failed, and so has its iteration.
    fn fail(self: Rc<Self>);

    /// Stores an operation that its code began, so that an interruption can cancel it.
    fn track(&self, operation: Weak<dyn Cancel>);
}

/// An operation in progress that can be cancelled.
pub(crate) trait Cancel {
    /// Drops it now: a request in progress closes its connection and is recorded as interrupted.
    fn cancel(&self);
}

/// A requested turn in a realm: the start of an iteration.
pub(crate) trait PendingCall {
    fn realm(&self) -> &Rc<RealmState>;

    /// `None`: the call is no longer needed.
    fn owner(&self) -> Option<Rc<dyn Owner>>;

    fn call(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()>;
}
