//! Generators that `compile::stepped` made of async functions, and how they are resumed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Ctx, Error, Function, Object, Persistent, Value, qjs};

use super::awaited::address_of;

/// The functions of a realm by their address, which no other function can have while they are held here. Drop it before the runtime.
#[derive(Default)]
pub(crate) struct SteppedFunctions {
    known: Rc<RefCell<HashMap<usize, Persistent<Function<'static>>>>>,
    methods: RefCell<Option<GeneratorMethods>>,
}

/// `next` and `throw` of generators, as they were before any script ran.
struct GeneratorMethods {
    next: Persistent<Function<'static>>,
    throw: Persistent<Function<'static>>,
}

impl SteppedFunctions {
    /// Puts `stepped(function)` on the native object: it returns the function.
    pub(super) fn install<'js>(&self, ctx: &Ctx<'js>, native: &Object<'js>) -> rquickjs::Result<()> {
        let prototype: Object<'js> = ctx.eval("Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()))")?;
        let method = |name: &str| Ok::<_, Error>(Persistent::save(ctx, prototype.get::<_, Function<'js>>(name)?));
        *self.methods.borrow_mut() = Some(GeneratorMethods { next: method("next")?, throw: method("throw")? });
        // Weak: the runtime owns the function, and must not own values of the same runtime.
        let known = Rc::downgrade(&self.known);
        let stepped = move |ctx: Ctx<'js>, function: Function<'js>| {
            if let Some(known) = known.upgrade() {
                known.borrow_mut().insert(address_of(function.as_value()), Persistent::save(&ctx, function.clone()));
            }
            function
        };
        native.set("stepped", Function::new(ctx.clone(), stepped)?)
    }

    /// Whether a call of the function returns a generator for [`SteppedFunctions::resume`].
    pub(crate) fn has(&self, function: &Function<'_>) -> bool {
        self.known.borrow().contains_key(&address_of(function.as_value()))
    }

    /// Resumes a generator with the result of what it awaits.
    pub(crate) fn resume<'js>(
        &self,
        ctx: &Ctx<'js>,
        generator: &Value<'js>,
        result: Result<&Value<'js>, &Value<'js>>,
    ) -> rquickjs::Result<Object<'js>> {
        let methods = self.methods.borrow();
        let (method, argument) = match (&*methods, result) {
            (Some(methods), Ok(value)) => (&methods.next, value),
            (Some(methods), Err(thrown)) => (&methods.throw, thrown),
            (None, _) => return Err(Error::Unknown),
        };
        let (method, mut argument) = (method.clone().restore(ctx)?, argument.as_raw());
        // SAFETY: function, generator and argument are alive and belong to the context; the returned value is owned here.
        let stepped = unsafe {
            let returned = qjs::JS_Call(ctx.as_raw().as_ptr(), method.as_raw(), generator.as_raw(), 1, &raw mut argument);
            Value::from_raw(ctx.clone(), returned)
        };
        stepped.into_object().ok_or(Error::Exception)
    }
}

/// `Promise.resolve(value)`, as `await` does it, or a promise that is rejected with the thrown value.
pub(crate) fn promise_of<'js>(result: Result<&Value<'js>, &Value<'js>>) -> rquickjs::Result<Value<'js>> {
    let (value, is_thrown) = result.map_or_else(|thrown| (thrown, true), |value| (value, false));
    let ctx = value.ctx();
    // SAFETY: the value is alive and belongs to the context; the returned value is owned here.
    let promise = unsafe { Value::from_raw(ctx.clone(), qjs::JS_NewSettledPromise(ctx.as_raw().as_ptr(), is_thrown, value.as_raw())) };
    if promise.is_exception() { Err(Error::Exception) } else { Ok(promise) }
}

/// `promise.then(fulfilled, rejected)`, whatever the script has done to `then`.
pub(crate) fn then<'js>(promise: &Value<'js>, fulfilled: &Function<'js>, rejected: &Function<'js>) -> rquickjs::Result<()> {
    let ctx = promise.ctx();
    // SAFETY: the values are alive and belong to the context; the returned value is owned here.
    let chained = unsafe {
        let raw = qjs::JS_PromiseThen(ctx.as_raw().as_ptr(), promise.as_raw(), fulfilled.as_raw(), rejected.as_raw());
        Value::from_raw(ctx.clone(), raw)
    };
    if chained.is_exception() { Err(Error::Exception) } else { Ok(()) }
}
