//! Calls and jobs through QuickJS's C interface.

use std::mem::MaybeUninit;

use rquickjs::{Ctx, Error, Function, Value, qjs};

/// Runs the next job. Returns false when there is none.
///
/// `Ctx::execute_pending_job` discards the exception of a job, which is the only sign of an interrupted async function: its promise never
/// settles.
pub(super) fn run_one<'js>(ctx: &Ctx<'js>) -> Result<bool, Value<'js>> {
    let mut ran_in = MaybeUninit::uninit();
    // SAFETY: the context is alive and entered (`ctx` proves both), and so is its runtime. The context written to `ran_in` is
    // borrowed and not used: a realm has one context.
    let result = unsafe { qjs::JS_ExecutePendingJob(qjs::JS_GetRuntime(ctx.as_raw().as_ptr()), ran_in.as_mut_ptr()) };
    match result {
        0 => Ok(false),
        1.. => Ok(true),
        _ => Err(ctx.catch()),
    }
}

/// Whether jobs are queued.
pub(crate) fn are_pending(ctx: &Ctx<'_>) -> bool {
    // SAFETY: the context is alive, and so is its runtime.
    unsafe { qjs::JS_IsJobPending(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) }
}

/// `function(argument)`, without the overhead of a call with any number of arguments.
pub(crate) fn call_with<'js>(function: &Function<'js>, argument: &Value<'js>) -> rquickjs::Result<Value<'js>> {
    let (ctx, mut argument) = (function.ctx(), argument.as_raw());
    // SAFETY: function and argument are alive and belong to the context; the returned value is owned here.
    let returned = unsafe {
        let returned = qjs::JS_Call(ctx.as_raw().as_ptr(), function.as_raw(), qjs::JS_UNDEFINED, 1, &raw mut argument);
        Value::from_raw(ctx.clone(), returned)
    };
    if returned.is_exception() { Err(Error::Exception) } else { Ok(returned) }
}
