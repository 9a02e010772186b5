//! Promises that end iterations, and notifications of their end.
//!
//! `promise.then(…)` would cost a promise, two functions and a job for each iteration. QuickJS notifies its host of every promise that is
//! fulfilled (the promise hook), and of every promise that is rejected without a handler (the rejection tracker, see `unhandled`). One of
//! the two always covers the promise of an async function, which no other code can have.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use rquickjs::{Ctx, Promise, Value, qjs};

/// A waiter for a promise.
pub(crate) trait AwaitsPromise {
    /// It was fulfilled. Called while JavaScript runs, so it must not call into the realm.
    fn fulfilled(self: Rc<Self>);
    /// It was rejected.
    fn rejected<'js>(self: Rc<Self>, ctx: &Ctx<'js>, reason: &Value<'js>);
}

/// Addresses of live promises, and the waiter for each.
type AwaitedPromises = HashMap<usize, Rc<dyn AwaitsPromise>, BuildHasherDefault<AddressHasher>>;

/// Promises with a waiter. The waiter keeps its promise alive until it is settled or forgotten; otherwise another promise could get its
/// address.
#[derive(Default)]
pub(crate) struct Awaited(Box<RefCell<AwaitedPromises>>);

impl Awaited {
    /// Listens to a context's runtime. It must live as long as the runtime runs code. Call this once per runtime.
    pub(super) fn listen(&self, ctx: &Ctx<'_>) {
        let opaque = std::ptr::from_ref::<RefCell<AwaitedPromises>>(&self.0).cast_mut().cast::<c_void>();
        // SAFETY: the context is alive, and so is its runtime. The box's content does not move. It is dropped after the realm's last call,
        // and the hook only runs within calls.
        unsafe { qjs::JS_SetPromiseHook(qjs::JS_GetRuntime(ctx.as_raw().as_ptr()), Some(hook), opaque) };
    }

    /// Notifies `who` when the promise settles.
    pub(crate) fn insert(&self, promise: &Promise<'_>, who: Rc<dyn AwaitsPromise>) -> usize {
        let address = address_of(promise.as_value());
        self.0.borrow_mut().insert(address, who);
        address
    }

    /// Removes the waiter. `None`: the promise has settled.
    pub(crate) fn take(&self, address: usize) -> Option<Rc<dyn AwaitsPromise>> {
        self.0.borrow_mut().remove(&address)
    }

    pub(super) fn has(&self, promise: &Value<'_>) -> bool {
        self.0.borrow().contains_key(&address_of(promise))
    }
}

/// Ignores later rejections of a promise.
pub(crate) fn disregard(promise: &Value<'_>) {
    // SAFETY: the value is alive and belongs to the context.
    unsafe { qjs::JS_PromiseMarkAsHandled(promise.ctx().as_raw().as_ptr(), promise.as_raw()) };
}

/// Address of an object or a string.
pub(crate) fn address_of(value: &Value<'_>) -> usize {
    // SAFETY: either is a pointer; nothing is read through it.
    unsafe { qjs::JS_VALUE_GET_PTR(value.as_raw()) as usize }
}

/// QuickJS calls this for every promise that is created, fulfilled, or about to run a job.
unsafe extern "C" fn hook(
    _: *mut qjs::JSContext,
    kind: qjs::JSPromiseHookType,
    promise: qjs::JSValue,
    _: qjs::JSValue,
    opaque: *mut c_void,
) {
    if kind != qjs::JSPromiseHookType_JS_PROMISE_HOOK_RESOLVE {
        return;
    }
    // SAFETY: `opaque` is the box's content of `Awaited::listen`; the promise is an object.
    let (waiting, address) = unsafe { (&*opaque.cast::<RefCell<AwaitedPromises>>(), qjs::JS_VALUE_GET_PTR(promise) as usize) };
    let who = waiting.borrow_mut().remove(&address);
    if let Some(who) = who {
        who.fulfilled();
    }
}

/// Addresses are well distributed once their low bits are mixed in. The multiplier is Knuth's for 64 bits.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
