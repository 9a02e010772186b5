//! Runs one job of QuickJS's queue and keeps what ended it.

use std::mem::MaybeUninit;

use rquickjs::{Ctx, Value, qjs};

/// Runs the next job; false when there is none.
///
/// `Ctx::execute_pending_job` swallows the exception of a job, and that is the only sign of an interrupted async function:
/// its promise never settles.
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
