//! Promises that iterations end with, and word of their end.
//!
//! `promise.then(…)` would cost a promise, two functions and a job for each iteration. QuickJS tells its host of every promise that is
//! fulfilled (the promise hook), and of those that are rejected while nobody handles them (the rejection tracker, see
//! `unhandled`); an async function's own promise, which nobody else can have, is always told by one of the two.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use rquickjs::{Ctx, Promise, Value, qjs};

/// Who waits for a promise.
pub(crate) trait AwaitsPromise {
    /// It was fulfilled. Called amid JavaScript: no call into the realm may come of it.
    fn fulfilled(self: Rc<Self>);
    /// It was rejected.
    fn rejected<'js>(self: Rc<Self>, ctx: &Ctx<'js>, reason: &Value<'js>);
}

/// Addresses of promises that are alive, and who waits for each.
type AwaitedPromises = HashMap<usize, Rc<dyn AwaitsPromise>, BuildHasherDefault<AddressHasher>>;

/// Promises that are waited for. Whoever waits keeps its promise alive until it is settled or forgotten, or another could come to
/// have its address.
#[derive(Default)]
pub(crate) struct Awaited(Box<RefCell<AwaitedPromises>>);

impl Awaited {
    /// Listens to a context's runtime. It must live as long as the runtime runs code, and must not be listened with twice.
    pub(super) fn listen(&self, ctx: &Ctx<'_>) {
        let opaque = std::ptr::from_ref::<RefCell<AwaitedPromises>>(&self.0).cast_mut().cast::<c_void>();
        // SAFETY: the context is alive, and so is its runtime. The box's content does not move; it is dropped after the realm's last call,
        // and the hook only runs within calls.
        unsafe { qjs::JS_SetPromiseHook(qjs::JS_GetRuntime(ctx.as_raw().as_ptr()), Some(hook), opaque) };
    }

    /// From now on `who` is told what becomes of a promise.
    pub(crate) fn insert(&self, promise: &Promise<'_>, who: Rc<dyn AwaitsPromise>) -> usize {
        let address = address_of(promise.as_value());
        self.0.borrow_mut().insert(address, who);
        address
    }

    /// Nobody waits any more. `None`: it was settled before.
    pub(crate) fn take(&self, address: usize) -> Option<Rc<dyn AwaitsPromise>> {
        self.0.borrow_mut().remove(&address)
    }

    pub(super) fn has(&self, promise: &Value<'_>) -> bool {
        self.0.borrow().contains_key(&address_of(promise))
    }
}

/// A promise that is rejected from now on is not told to anyone.
pub(crate) fn disregard(promise: &Value<'_>) {
    // SAFETY: the value is alive and belongs to the context.
    unsafe { qjs::JS_PromiseMarkAsHandled(promise.ctx().as_raw().as_ptr(), promise.as_raw()) };
}

/// Address of an object or a string.
pub(crate) fn address_of(value: &Value<'_>) -> usize {
    // SAFETY: either is a pointer; nothing is read through it.
    unsafe { qjs::JS_VALUE_GET_PTR(value.as_raw()) as usize }
}

/// QuickJS calls this for every promise that is made, fulfilled, or about to run a job.
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

/// Addresses are as good as random once their low bits are mixed in; the multiplier is Knuth's for 64 bits.
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
