//! Values that JSON cannot represent: bytes and big integers. A replacer for `JSON.stringify` converts them.

use std::collections::HashSet;

use base64::Engine;
use prost_reflect::{Kind, MessageDescriptor};
use rquickjs::{Ctx, Function, IntoJs, Value};

use crate::globals::bytes::bytes_of;

/// Whether a message may contain bytes or 64-bit integers, at any depth.
pub(super) fn needs_replacer(message: &MessageDescriptor) -> bool {
    fn looks(message: &MessageDescriptor, seen: &mut HashSet<String>) -> bool {
        seen.insert(message.full_name().to_owned())
            && message.fields().any(|field| match field.kind() {
                Kind::Bytes | Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64 => true,
                Kind::Message(inner) => looks(&inner, seen),
                _ => false,
            })
    }
    looks(message, &mut HashSet::new())
}

/// Converts these values to the forms of Protocol Buffers' JSON: bytes to base64, big integers to strings.
pub(super) fn replacer<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Function<'js>> {
    Function::new(ctx.clone(), |ctx: Ctx<'js>, _key: Value<'js>, value: Value<'js>| -> rquickjs::Result<Value<'js>> {
        if let Some(big) = value.as_big_int() {
            return big.clone().to_i64()?.to_string().into_js(&ctx);
        }
        match value.as_object().and_then(|_| bytes_of(&value)) {
            Some(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes).into_js(&ctx),
            None => Ok(value),
        }
    })
}
