//! The JavaScript half of a global.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, FromJs, Function, IntoJs, Result};

/// Runs a JavaScript half: a file that is one function expression, called with its Rust half.
pub(super) fn complete<'js, R: FromJs<'js>>(ctx: &Ctx<'js>, file: &str, source: &str, native: impl IntoJs<'js>) -> Result<R> {
    let mut options = EvalOptions::default();
    options.filename = Some(format!("loadstone:{file}"));
    let half: Function<'js> = ctx.eval_with_options(source, options)?;
    half.call((native,))
}
