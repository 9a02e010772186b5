//! Where native functions of a realm find their way back to the worker.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use rquickjs::{Ctx, Exception, JsLifetime};

use crate::crew::desk::{Desk, RealmHandle};
use crate::crew::op::OpSlot;

/// Kept as user data of the realm; weak, since the realm owns it.
pub(crate) struct Home {
    pub(crate) desk: Rc<Desk>,
    pub(crate) realm: RefCell<Weak<RealmHandle>>,
    pub(super) timers: RefCell<HashMap<u32, Weak<OpSlot>>>,
    pub(super) timer_next: Cell<u32>,
}

// SAFETY: `Home` holds no JavaScript values, so it has no lifetime of the engine's.
unsafe impl<'js> JsLifetime<'js> for Home {
    type Changed<'to> = Home;
}

impl Home {
    pub(crate) fn new(desk: Rc<Desk>) -> Self {
        Self { desk, realm: RefCell::default(), timers: RefCell::default(), timer_next: Cell::new(1) }
    }

    /// The realm's handle; an error while the test file is being evaluated.
    pub(crate) fn realm(&self, ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<Rc<RealmHandle>> {
        self.realm
            .borrow()
            .upgrade()
            .ok_or_else(|| Exception::throw_message(ctx, &format!("{what} works inside scenarios, not at the top level of the file")))
    }
}
