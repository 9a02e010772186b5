//! Globals that every script has without an import: `console`, `URL`, `TextEncoder`, `crypto`, `structuredClone`, and a seeded
//! `Math.random`; also the hashes and encodings of the "loadstone" module.
//!
//! Each file here has a Rust half (`install`). Most have a JavaScript half in the same folder, which gives it the standard's interface.
//! Deliberately absent: timers (they belong to the realm's clock), `fetch` (requests belong to a user), and globals of QuickJS (`atob`,
//! `btoa`, `queueMicrotask`, `performance`).

pub(crate) mod bytes;
mod clone;
pub(crate) mod console;
mod crypto;
mod encoding;
mod half;
pub(crate) mod url;

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
