//! Replies as values of the script, and as text for display.

use loadstone_protocol::redis::{RedisPart, RedisReplies};
use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Exception, IntoJs, Object, TypedArray, Value};

/// Maximum depth of nested lists.
const DEPTH_MAX: usize = 64;
/// A double represents all integers up to this one exactly.
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// The value of one reply. `undefined` for an error.
pub(crate) fn single<'js>(ctx: &Ctx<'js>, bytes: &[u8], as_bytes: bool) -> rquickjs::Result<Value<'js>> {
    let mut parts = RedisReplies::of(bytes);
    match parts.clone().next() {
        Some(RedisPart::Error(_)) => Ok(Value::new_undefined(ctx.clone())),
        _ => value(ctx, &mut parts, as_bytes, 0),
    }
}

/// The values of several replies, as a list.
pub(super) fn all<'js>(ctx: &Ctx<'js>, mut parts: RedisReplies<'_>, as_bytes: bool) -> rquickjs::Result<Value<'js>> {
    let list = Array::new(ctx.clone())?;
    while parts.clone().next().is_some() {
        list.set(list.len(), value(ctx, &mut parts, as_bytes, 0)?)?;
    }
    Ok(list.into_value())
}

fn value<'js>(ctx: &Ctx<'js>, parts: &mut RedisReplies<'_>, as_bytes: bool, depth: usize) -> rquickjs::Result<Value<'js>> {
    if depth > DEPTH_MAX {
        return Err(Exception::throw_message(ctx, "the reply nests lists too deeply to be read"));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_js(ctx);
    match parts.next() {
        None | Some(RedisPart::Null) => Ok(Value::new_null(ctx.clone())),
        Some(RedisPart::Text(bytes)) if as_bytes => TypedArray::new_copy(ctx.clone(), bytes).map(TypedArray::into_value),
        Some(RedisPart::Status(bytes) | RedisPart::Text(bytes) | RedisPart::BigNumber(bytes)) => text(bytes),
        Some(RedisPart::Error(error)) => {
            let object = Object::new(ctx.clone())?;
            object.set("error", text(error)?)?;
            Ok(object.into_value())
        }
        Some(RedisPart::Integer(number)) if number.unsigned_abs() <= INTEGER_MAX => Ok(Value::new_number(ctx.clone(), number as f64)),
        Some(RedisPart::Integer(number)) => number.to_string().into_js(ctx),
        Some(RedisPart::Double(number)) => Ok(Value::new_number(ctx.clone(), number)),
        Some(RedisPart::Boolean(boolean)) => Ok(Value::new_bool(ctx.clone(), boolean)),
        Some(RedisPart::List(count)) => {
            let list = Array::new(ctx.clone())?;
            for place in 0..count {
                list.set(place as usize, value(ctx, parts, as_bytes, depth + 1)?)?;
            }
            Ok(list.into_value())
        }
        Some(RedisPart::Map(count)) => {
            let object = Object::new(ctx.clone())?;
            for _ in 0..count {
                let name = name(parts);
                let value = value(ctx, parts, as_bytes, depth + 1)?;
                // Defined, not set: a server may store the name `__proto__`.
                object.prop(name, Property::from(value).writable().enumerable().configurable())?;
            }
            Ok(object.into_value())
        }
        Some(RedisPart::Attributes(count)) => {
            (0..count.saturating_mul(2)).for_each(|_| drop(json(parts, depth)));
            value(ctx, parts, as_bytes, depth + 1)
        }
    }
}

/// A key of a map. A key that is not a string is converted to JSON.
fn name(parts: &mut RedisReplies<'_>) -> String {
    match json(parts, 0) {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Replies as JSON, one per line.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut parts = RedisReplies::of(bytes);
    let mut lines = Vec::new();
    while parts.clone().next().is_some() {
        lines.push(json(&mut parts, 0).to_string());
    }
    lines.join("\n")
}

fn json(parts: &mut RedisReplies<'_>, depth: usize) -> serde_json::Value {
    use serde_json::Value;
    if depth > DEPTH_MAX {
        return Value::String("…".to_owned());
    }
    let text = |bytes: &[u8]| Value::String(String::from_utf8_lossy(bytes).into_owned());
    match parts.next() {
        None | Some(RedisPart::Null) => Value::Null,
        Some(RedisPart::Status(bytes) | RedisPart::Text(bytes) | RedisPart::BigNumber(bytes)) => text(bytes),
        Some(RedisPart::Error(error)) => serde_json::json!({ "error": text(error) }),
        Some(RedisPart::Integer(number)) => number.into(),
        Some(RedisPart::Double(number)) => number.into(),
        Some(RedisPart::Boolean(boolean)) => boolean.into(),
        Some(RedisPart::List(count)) => (0..count).map(|_| json(parts, depth + 1)).collect(),
        Some(RedisPart::Map(count)) => (0..count).map(|_| (name(parts), json(parts, depth + 1))).collect(),
        Some(RedisPart::Attributes(count)) => {
            (0..count.saturating_mul(2)).for_each(|_| drop(json(parts, depth + 1)));
            json(parts, depth + 1)
        }
    }
}
