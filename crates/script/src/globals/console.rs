//! `console`: one line for each call, with objects in Node's format.

use std::rc::Rc;

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Function, Object, Result};

/// The level of a console line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// Receives the lines: the terminal next to the live progress, and the run's log.
pub(crate) type ConsoleSink = Rc<dyn Fn(ConsoleLevel, &str)>;

/// `__loadstone.format(…values)` is the line that `console.log` would write.
pub(super) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, sink: ConsoleSink) -> Result<()> {
    let write = Func::from(move |level: String, line: String| {
        let level = match level.as_str() {
            "debug" => ConsoleLevel::Debug,
            "warn" => ConsoleLevel::Warn,
            "error" => ConsoleLevel::Error,
            _ => ConsoleLevel::Info,
        };
        sink(level, &line);
    });
    let format: Function<'js> = super::half::complete(ctx, "console", include_str!("console.js"), write)?;
    native.set("format", format)
}
