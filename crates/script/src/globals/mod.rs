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
mod half;
mod url;

use rquickjs::{Ctx, Object, Result};

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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
