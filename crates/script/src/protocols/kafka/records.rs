//! Records as a script passes them.

use bytes::Bytes;
use loadstone_metrics::clock::wall_ns;
use loadstone_protocol::kafka::KafkaRecord;
use rquickjs::{Coerced, Ctx, FromJs, Type, Value};

use super::options::RECORD;
use crate::exact_json;
use crate::globals::bytes::bytes_of;
use crate::protocols::options::{each, not_in, wrong};

/// One record, or a list of them.
pub(super) fn read<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<KafkaRecord>> {
    let now_ms = i64::try_from(wall_ns() / 1_000_000).unwrap_or(i64::MAX);
    let Some(list) = value.as_array() else { return Ok(vec![record(ctx, value, now_ms)?]) };
    if list.is_empty() {
        return Err(wrong(ctx, "produce(…): the list of records is empty"));
    }
    list.iter::<Value<'js>>().map(|one| record(ctx, &one?, now_ms)).collect()
}

fn record<'js>(ctx: &Ctx<'js>, value: &Value<'js>, now_ms: i64) -> rquickjs::Result<KafkaRecord> {
    let is_record = value.is_object() && bytes_of(value).is_none();
    if !is_record {
        return Err(wrong(
            ctx,
            &format!("produce(…): a record is an object such as {{ key: \"7\", value: \"…\" }}, not {}", value.type_name()),
        ));
    }
    let mut record = KafkaRecord { timestamp_ms: now_ms, ..KafkaRecord::default() };
    let mut valued = 0;
    each(ctx, Some(value), "a record", |name, value| {
        match name {
            "key" => record.key = part(ctx, &value, "the key of a record")?,
            "value" => {
                record.value = part(ctx, &value, "the value of a record")?;
                valued += 1;
            }
            "json" => {
                let json =
                    exact_json::stringify(ctx, value)?.ok_or_else(|| wrong(ctx, "json: a record's value cannot be expressed as JSON"))?;
                record.value = Some(json.into());
                valued += 1;
            }
            "headers" => record.headers = headers(ctx, &value)?,
            "partition" => record.partition = Some(whole(ctx, &value, "partition", f64::from(i32::MAX))? as i32),
            "timestamp" => record.timestamp_ms = whole(ctx, &value, "timestamp", 8.64e15)? as i64,
            other => return Err(not_in(ctx, other, &RECORD)),
        }
        Ok(())
    })?;
    match valued {
        1 => Ok(record),
        0 => Err(wrong(ctx, "produce(…): a record needs a `value` (null deletes its key) or `json`")),
        _ => Err(wrong(ctx, "produce(…): a record has either a `value` or `json`, not both")),
    }
}

/// A string, a number, bytes, or nothing.
fn part<'js>(ctx: &Ctx<'js>, value: &Value<'js>, what: &str) -> rquickjs::Result<Option<Bytes>> {
    if value.is_null() {
        return Ok(None);
    }
    if let Some(bytes) = bytes_of(value) {
        return Ok(Some(bytes.into()));
    }
    if value.is_number() || value.type_of() == Type::BigInt {
        return Ok(Some(Coerced::<String>::from_js(ctx, value.clone())?.0.into()));
    }
    let remedy = if value.is_object() { "; pass an object as `json`" } else { "" };
    Err(wrong(ctx, &format!("{what} is a string, a number, bytes (Uint8Array) or null, not {}{remedy}", value.type_name())))
}

/// A list sends one header per item.
fn headers<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Vec<(String, Option<Bytes>)>> {
    let object = value.as_object().filter(|_| !value.is_array());
    let object = object.ok_or_else(|| wrong(ctx, "headers: expected an object of names and values"))?;
    let mut all = Vec::new();
    for property in object.props::<String, Value<'js>>() {
        let (name, value) = property?;
        let what = format!("the header `{name}`");
        match value.as_array() {
            Some(list) => {
                for value in list.iter::<Value<'js>>() {
                    all.push((name.clone(), part(ctx, &value?, &what)?));
                }
            }
            None => all.push((name, part(ctx, &value, &what)?)),
        }
    }
    Ok(all)
}

fn whole(ctx: &Ctx<'_>, value: &Value<'_>, what: &str, most: f64) -> rquickjs::Result<f64> {
    let number = value.as_number().filter(|number| number.fract() == 0.0 && (0.0..=most).contains(number));
    number.ok_or_else(|| wrong(ctx, &format!("{what}: expected a whole number of at least 0")))
}
