//! Whom code of a script runs for, as far as the driver has to know.

use std::rc::{Rc, Weak};

use rquickjs::Ctx;

use super::realm::RealmState;
use crate::error::ScriptError;

/// On whose behalf an operation goes on and code runs: a user.
pub(crate) trait Owner {
    /// Scenario and number, for console lines.
    fn label(&self) -> (Rc<str>, u64);

    /// Code that ran for it left an error that nothing handled.
    fn report(&self, error: &ScriptError);

    /// The call into the realm itself failed: so has its iteration.
    fn fail(self: Rc<Self>);

    /// Remembers an operation that was begun by its code, so that an interruption finds it.
    fn track(&self, operation: Weak<dyn Cancel>);
}

/// Something under way that can be given up.
pub(crate) trait Cancel {
    /// Drops it now: a request under way closes its connection and is recorded as interrupted.
    fn cancel(&self);
}

/// A turn in a realm that somebody has asked the driver for: the start of an iteration.
pub(crate) trait PendingCall {
    fn realm(&self) -> &Rc<RealmState>;

    /// `None`: the call is no longer wanted.
    fn owner(&self) -> Option<Rc<dyn Owner>>;

    fn call(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()>;
}
