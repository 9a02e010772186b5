//! Verbs of the user object, such as `user.get(…)`, as functions that QuickJS calls directly.
//!
//! The usual overhead of a class method (a callable object, each argument converted, the object borrowed) takes longer than finding a
//! prepared request.

use std::ffi::{CString, c_int};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use rquickjs::object::Property;
use rquickjs::{Class, Ctx, Error, Exception, Object, Value, qjs};

use super::object::UserObject;
use super::refusal::own_name;
use super::step::MeasuredStep;

/// A function of the user object.
pub(crate) trait Verb: 'static {
    const NAME: &'static str;
    /// Number of its arguments.
    const ARGUMENTS: usize;
    /// It neither changes nor stores its options, so they may be constants: see `compile::constants`.
    const TAKES_CONSTANTS: bool = false;
    /// There is a form of it for functions that are resumed with the result: see `compile::stepped`.
    const IS_STEPPED: bool = false;

    /// The name in reports of a call that cannot be sent because of its arguments, unless its options, the last argument, have one. `None`: the
    /// verb sends nothing.
    fn refused_name(_arguments: &VerbArguments<'_, '_>) -> Option<String> {
        None
    }

    /// # Errors
    /// The error that it throws.
    fn call<'js>(ctx: &Ctx<'js>, user: &UserObject, arguments: &VerbArguments<'_, 'js>) -> rquickjs::Result<Value<'js>>;
}

/// The arguments of a call.
pub(crate) struct VerbArguments<'a, 'js> {
    ctx: &'a Ctx<'js>,
    values: *mut qjs::JSValue,
    /// All arguments, filled up to the number that the verb takes.
    count: usize,
    borrowed: PhantomData<&'a [Value<'js>]>,
}

impl<'js> VerbArguments<'_, 'js> {
    /// `undefined` if it is absent.
    pub(crate) fn get(&self, index: usize) -> Value<'js> {
        if index >= self.count {
            return Value::new_undefined(self.ctx.clone());
        }
        // SAFETY: there are `count` values, which live as long as the call; the returned one is counted.
        unsafe { Value::from_raw(self.ctx.clone(), qjs::JS_DupValue(raw(self.ctx), *self.values.add(index))) }
    }

    /// All arguments of the call.
    pub(crate) fn all(&self) -> Vec<Value<'js>> {
        (0..self.count).map(|index| self.get(index)).collect()
    }
}

/// Puts a verb on the prototype of users.
pub(crate) fn install<'js, V: Verb>(ctx: &Ctx<'js>, prototype: &Object<'js>) -> rquickjs::Result<()> {
    let name = CString::new(V::NAME).map_err(Error::InvalidString)?;
    // SAFETY: the context is alive and copies the name; the function has the declared form. The returned value is owned here.
    let function = unsafe {
        let length = V::ARGUMENTS as c_int;
        let function = qjs::JS_NewCFunction2(raw(ctx), Some(call::<V>), name.as_ptr(), length, qjs::JSCFunctionEnum_JS_CFUNC_generic, 0);
        Value::from_raw(ctx.clone(), function)
    };
    let function = function.into_object().ok_or(Error::Exception)?;
    // Marks the function for compiled code, which other functions must not reach.
    if V::TAKES_CONSTANTS || V::IS_STEPPED {
        function.prop("__loadstone", Property::from(true))?;
    }
    prototype.prop(V::NAME, Property::from(function).writable().configurable())
}

/// QuickJS fills the arguments with `undefined` up to the number that the function declares, which `count` does not include.
unsafe extern "C" fn call<V: Verb>(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    count: c_int,
    arguments: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls with a context that is alive and entered, and with a value that lives as long as the call; references held here
    // are counted.
    let (ctx, this) = unsafe {
        let ctx = Ctx::from_raw(NonNull::new_unchecked(ctx));
        let this = Value::from_raw(ctx.clone(), qjs::JS_DupValue(raw(&ctx), this));
        (ctx, this)
    };
    let called = catch_unwind(AssertUnwindSafe(|| {
        let user = Class::<UserObject>::from_value(&this)?;
        let count = usize::try_from(count).unwrap_or(0).max(V::ARGUMENTS);
        let arguments = VerbArguments { ctx: &ctx, values: arguments, count, borrowed: PhantomData };
        let user = user.borrow();
        V::call(&ctx, &user, &arguments).map_err(|error| match V::refused_name(&arguments) {
            None => error,
            Some(name) => {
                let name = own_name(Some(&arguments.get(V::ARGUMENTS - 1))).unwrap_or(name);
                user.state.refused_call(&ctx, || MeasuredStep::named(&user.state, user.group(), &name), error)
            }
        })
    }));
    match called {
        // SAFETY: as above; the caller gets its own reference.
        Ok(Ok(value)) => unsafe { qjs::JS_DupValue(raw(&ctx), value.as_raw()) },
        Ok(Err(Error::Exception)) => qjs::JS_EXCEPTION,
        Ok(Err(error)) => {
            Exception::throw_type(&ctx, &error.to_string());
            qjs::JS_EXCEPTION
        }
        Err(_) => {
            Exception::throw_internal(&ctx, "Loadstone failed within this call: please report it");
            qjs::JS_EXCEPTION
        }
    }
}

fn raw(ctx: &Ctx<'_>) -> *mut qjs::JSContext {
    ctx.as_raw().as_ptr()
}
