//! What every script has without importing it: `console`, `URL`, `TextEncoder`, `crypto`, `structuredClone`, and a seeded `Math.random`;
//! and the hashes and encodings of the "loadstone" module.
//!
//! Each file here has a Rust half (`install`) and most have a JavaScript half beside it that gives it the standard's shape.
//! Deliberately absent: timers (they belong to the realm's clock), `fetch` (requests belong to a user), and what QuickJS brings itself
//! (`atob`, `btoa`, `queueMicrotask`, `performance`).

pub(crate) mod bytes;
mod clone;
pub(crate) mod console;
mod crypto;
mod encoding;
mod url;

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, FromJs, Function, IntoJs, Object, Result};

use crate::data::bindings::RandomHandle;
use console::ConsoleSink;

/// Puts the globals on a new realm, and `encoding` (hash, hmac, base64, …) on the hidden `__loadstone` object.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, random: &RandomHandle, sink: ConsoleSink) -> Result<()> {
    console::install(ctx, native, sink)?;
    url::install(ctx)?;
    encoding::install(ctx)?;
    clone::install(ctx)?;
    crypto::install(ctx, native, random)
}

/// Runs a JavaScript half: a file that is one function expression, called with its Rust half.
fn complete<'js, R: FromJs<'js>>(ctx: &Ctx<'js>, file: &str, source: &str, native: impl IntoJs<'js>) -> Result<R> {
    let mut options = EvalOptions::default();
    options.filename = Some(format!("loadstone:{file}"));
    let half: Function<'js> = ctx.eval_with_options(source, options)?;
    half.call((native,))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
