//! Strings and bytes as scripts pass them.

use rquickjs::{ArrayBuffer, Ctx, Exception, Result, TypedArray, Value};

/// A copy of a value's bytes: a string as UTF-8, or the content of a `Uint8Array` or `ArrayBuffer`. `None` for any other value.
pub(crate) fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return text.to_string().ok().map(String::into_bytes);
    }
    let object = value.as_object()?;
    // A detached array has no bytes.
    if let Ok(array) = TypedArray::<u8>::from_object(object.clone()) {
        // SAFETY: no JavaScript runs between here and the copy.
        return Some(unsafe { array.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default());
    }
    let buffer = ArrayBuffer::from_object(object.clone())?;
    // SAFETY: no JavaScript runs between here and the copy.
    Some(unsafe { buffer.as_bytes() }.map(<[u8]>::to_vec).unwrap_or_default())
}

/// The same, with an error that names the argument.
pub(super) fn bytes_or_throw(ctx: &Ctx<'_>, value: &Value<'_>, what: &str) -> Result<Vec<u8>> {
    bytes_of(value)
        .ok_or_else(|| Exception::throw_type(ctx, &format!("{what}: expected a string or a Uint8Array, got {}", value.type_name())))
}
