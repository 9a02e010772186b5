//! `user.get(…)` and its likes, as functions that QuickJS calls directly.
//!
//! What a method of a class goes through otherwise (a callable object, each argument converted, the object borrowed) takes longer
//! than finding a prepared request. All else on the user object is a plain method (`class`).

use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use rquickjs::object::Property;
use rquickjs::{Class, Ctx, Error, Exception, Object, Value, qjs};

use super::class::{Method, User};
use super::request::Verb;

/// Puts the functions on the prototype of users.
pub(super) fn install<'js>(ctx: &Ctx<'js>, prototype: &Object<'js>) -> rquickjs::Result<()> {
    for method in Method::ALL {
        let name = Method::TEXTS[method as usize].to_ascii_lowercase();
        let text = CString::new(name.as_str()).map_err(Error::InvalidString)?;
        let form = qjs::JSCFunctionType { generic_magic: Some(call) };
        // SAFETY: the context is alive and copies the name; the union's forms are all pointers to functions, and the form that is
        // told is the one that is given. The value returned is ours.
        let function = unsafe {
            let function = qjs::JS_NewCFunction2(
                raw(ctx),
                form.generic,
                text.as_ptr(),
                2,
                qjs::JSCFunctionEnum_JS_CFUNC_generic_magic,
                method as c_int,
            );
            Value::from_raw(ctx.clone(), function)
        };
        let function = function.into_object().ok_or(Error::Exception)?;
        // What `compile::constants` asks for: this function takes constants.
        function.prop("__loadstone", Property::from(true))?;
        prototype.prop(name, Property::from(function).writable().configurable())?;
    }
    Ok(())
}

/// Two arguments are always there: as many as the function says it takes.
unsafe extern "C" fn call(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    _: c_int,
    arguments: *mut qjs::JSValue,
    method: c_int,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls with a context that is alive and entered, and with values that live as long as the call; each that is
    // held here is counted.
    let (ctx, [this, url, options]) = unsafe {
        let ctx = Ctx::from_raw(NonNull::new_unchecked(ctx));
        let held = |value| Value::from_raw(ctx.clone(), qjs::JS_DupValue(raw(&ctx), value));
        let values = [held(this), held(*arguments), held(*arguments.add(1))];
        (ctx, values)
    };
    let sent = catch_unwind(AssertUnwindSafe(|| {
        let user = Class::<User>::from_value(&this)?;
        let method = Method::ALL[method as usize];
        user.borrow().send(&ctx, Verb::Known(method), &url, Some(&options))
    }));
    match sent {
        // SAFETY: as above; the caller gets a count of its own.
        Ok(Ok(promise)) => unsafe { qjs::JS_DupValue(raw(&ctx), promise.as_raw()) },
        Ok(Err(Error::Exception)) => qjs::JS_EXCEPTION,
        Ok(Err(error)) => {
            Exception::throw_type(&ctx, &error.to_string());
            qjs::JS_EXCEPTION
        }
        Err(_) => {
            Exception::throw_internal(&ctx, "Loadstone failed within this request: please report it");
            qjs::JS_EXCEPTION
        }
    }
}

fn raw(ctx: &Ctx<'_>) -> *mut qjs::JSContext {
    ctx.as_raw().as_ptr()
}
