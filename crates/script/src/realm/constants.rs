//! Objects that never change: the options that `compile::constants` moved out of a module's code, created once for each realm.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Ctx, Function, Object, Persistent, Value, qjs};

use super::awaited::address_of;

/// Constants by their address, which no other object can have while they are held here. Drop it before the runtime.
#[derive(Default)]
pub(crate) struct Constants(Rc<RefCell<HashMap<usize, Persistent<Object<'static>>>>>);

impl Constants {
    /// Puts `constant(object)` on the native object: it deeply freezes the object and returns it.
    pub(super) fn install<'js>(&self, ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
        // Weak: the runtime owns the function, and must not own values of the same runtime.
        let known = Rc::downgrade(&self.0);
        let constant = move |ctx: Ctx<'js>, object: Object<'js>| {
            freeze(&object)?;
            if let Some(known) = known.upgrade() {
                known.borrow_mut().insert(address_of(object.as_value()), Persistent::save(&ctx, object.clone()));
            }
            Ok::<_, rquickjs::Error>(object)
        };
        native.set("constant", Function::new(ctx.clone(), constant)?)
    }

    /// Whether the object is a constant.
    pub(crate) fn has(&self, object: &Object<'_>) -> bool {
        self.0.borrow().contains_key(&address_of(object.as_value()))
    }
}

fn freeze<'js>(object: &Object<'js>) -> rquickjs::Result<()> {
    for value in object.props::<Value<'js>, Value<'js>>() {
        if let Some(inner) = value?.1.as_object() {
            freeze(inner)?;
        }
    }
    // SAFETY: the object is alive and belongs to the context.
    let frozen = unsafe { qjs::JS_FreezeObject(object.ctx().as_raw().as_ptr(), object.as_raw()) };
    if frozen < 0 { Err(rquickjs::Error::Exception) } else { Ok(()) }
}
