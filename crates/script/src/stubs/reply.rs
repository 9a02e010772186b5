//! Common parts of the answers of stubs' functions, for all protocols.

use loadstone_stub::Delay;
use rquickjs::{Ctx, Exception};

/// Names and values.
pub(super) fn pairs(lists: Vec<Vec<String>>) -> Vec<(String, String)> {
    lists.into_iter().filter_map(|pair| <[String; 2]>::try_from(pair).ok()).map(Into::into).collect()
}

/// Names and values, borrowed.
pub(super) fn fields_of(lines: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    lines.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Draws a delay, in nanoseconds.
pub(super) fn delay_ns(ctx: &Ctx<'_>, written: Option<String>, draw: &mut dyn FnMut() -> u64) -> rquickjs::Result<Option<u64>> {
    let Some(text) = written else { return Ok(None) };
    let delay: Delay = text.parse().map_err(|error: loadstone_stub::DelayError| Exception::throw_range(ctx, &error.to_string()))?;
    Ok(Some(delay.sample_ns(draw)))
}
