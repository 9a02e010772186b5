//! Values that JSON cannot represent: bytes, big integers, NaN and infinities. A replacer for `JSON.stringify` converts them.

use std::collections::HashSet;

use base64::Engine;
use prost_reflect::{Kind, MessageDescriptor};
use rquickjs::{Coerced, Ctx, FromJs, Function, IntoJs, Type, Value};

use crate::globals::bytes::bytes_of;

/// Whether a message may contain bytes, 64-bit integers or floating-point numbers, at any depth.
pub(super) fn needs_replacer(message: &MessageDescriptor) -> bool {
    fn looks(message: &MessageDescriptor, seen: &mut HashSet<String>) -> bool {
        seen.insert(message.full_name().to_owned())
            && message.fields().any(|field| match field.kind() {
                Kind::Bytes | Kind::Float | Kind::Double | Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64 => {
                    true
                }
                Kind::Message(inner) => looks(&inner, seen),
                _ => false,
            })
    }
    looks(message, &mut HashSet::new())
}

/// Converts these values to the forms of Protocol Buffers' JSON: bytes to base64, big integers and numbers that are not finite to strings.
pub(super) fn replacer<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Function<'js>> {
    Function::new(ctx.clone(), |ctx: Ctx<'js>, _key: Value<'js>, value: Value<'js>| -> rquickjs::Result<Value<'js>> {
        // A bigint may exceed 64 bits. The field then names its range.
        if value.type_of() == Type::BigInt {
            return Coerced::<String>::from_js(&ctx, value)?.0.into_js(&ctx);
        }
        if let Some(number) = value.as_float().filter(|number| !number.is_finite()) {
            return not_finite(number).into_js(&ctx);
        }
        match value.as_object().and_then(|_| bytes_of(&value)) {
            Some(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes).into_js(&ctx),
            None => Ok(value),
        }
    })
}

/// The names of the JSON mapping of Protocol Buffers.
fn not_finite(number: f64) -> &'static str {
    match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}
