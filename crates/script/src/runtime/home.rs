//! Access from native functions of a realm to the realm and its worker.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rquickjs::{Ctx, Exception, JsLifetime};

use super::realm::RealmState;
use super::worker::WorkerState;
use crate::unknown_options::UnknownOptionListener;

/// Stored as user data of the realm. Weak, since the realm owns it.
#[derive(JsLifetime)]
pub(crate) struct RealmHome {
    pub(crate) worker: Rc<WorkerState>,
    realm: RefCell<Weak<RealmState>>,
}

impl RealmHome {
    /// Installs it in a realm that is being created.
    pub(crate) fn install(ctx: &Ctx<'_>, worker: &Rc<WorkerState>) {
        // The store is new, so no code has borrowed from it.
        let _ = ctx.store_userdata(Self { worker: Rc::clone(worker), realm: RefCell::default() });
        let worker = Rc::downgrade(worker);
        let listener = move |ctx: &Ctx<'_>, message: &str| _ = worker.upgrade().map(|worker| worker.misused(ctx, message));
        let _ = ctx.store_userdata(UnknownOptionListener(Box::new(listener)));
    }

    /// The test file has been evaluated: from now on its functions find the realm.
    pub(crate) fn open(state: &Rc<RealmState>) {
        state.realm.enter(|ctx| {
            if let Some(home) = ctx.userdata::<Self>() {
                *home.realm.borrow_mut() = Rc::downgrade(state);
            }
        });
    }

    /// The realm. `None` while the test file is being evaluated.
    pub(crate) fn opened(&self) -> Option<Rc<RealmState>> {
        self.realm.borrow().upgrade()
    }

    /// The realm. An error while the test file is being evaluated.
    pub(crate) fn realm(&self, ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<Rc<RealmState>> {
        self.opened()
            .ok_or_else(|| Exception::throw_message(ctx, &format!("{what} works inside scenarios, not at the top level of the file")))
    }
}
