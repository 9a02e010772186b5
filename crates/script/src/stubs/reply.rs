//! What functions of stubs answer, as their modules of TypeScript have put it.

use loadstone_stub::{Delay, Reply};
use rquickjs::{Ctx, Exception, Value};

use crate::globals::bytes::bytes_of;

/// Of a route of HTTP: what `module/stubs.ts` made of the answer.
pub(super) fn of_http<'js>(ctx: &Ctx<'js>, value: &Value<'js>, draw: impl FnMut() -> u64) -> rquickjs::Result<Reply> {
    let Some(object) = value.as_object() else { return Ok(Reply::default()) };
    let status = object.get::<_, Option<f64>>("status")?;
    if let Some(status) = status.filter(|status| !(200.0..=999.0).contains(status) || status.fract() != 0.0) {
        return Err(Exception::throw_range(ctx, &format!("a status of {status} cannot be answered: use 200 to 999")));
    }
    Ok(Reply {
        status: status.map(|status| status as u16),
        headers: pairs(object.get("headers")?),
        body: object.get::<_, Option<String>>("body")?.map(Into::into),
        delay_ns: delay_ns(ctx, object.get("delay")?, draw)?,
        ..Reply::default()
    })
}

/// Of a stub of TCP: what `module/tcp-stubs.ts` made of the answer.
pub(super) fn of_tcp<'js>(ctx: &Ctx<'js>, value: &Value<'js>, draw: impl FnMut() -> u64) -> rquickjs::Result<Reply> {
    let Some(object) = value.as_object() else { return Ok(Reply::default()) };
    let answer: Value<'js> = object.get("answer")?;
    Ok(Reply {
        body: bytes_of(&answer).map(Into::into),
        closes: object.get("close")?,
        delay_ns: delay_ns(ctx, object.get("delay")?, draw)?,
        ..Reply::default()
    })
}

/// Names and values.
pub(super) fn pairs(lists: Vec<Vec<String>>) -> Vec<(String, String)> {
    lists.into_iter().filter_map(|pair| <[String; 2]>::try_from(pair).ok()).map(Into::into).collect()
}

/// A delay that is drawn now.
pub(super) fn delay_ns(ctx: &Ctx<'_>, written: Option<String>, draw: impl FnMut() -> u64) -> rquickjs::Result<Option<u64>> {
    let Some(text) = written else { return Ok(None) };
    let delay: Delay = text.parse().map_err(|error: loadstone_stub::DelayError| Exception::throw_range(ctx, &error.to_string()))?;
    Ok(Some(delay.sample_ns(draw)))
}
