//! Refused operations of `crypto.subtle`, and the byte strings of objects.

use rquickjs::{ArrayBuffer, Ctx, Exception, Object, Value};

use crate::natives::crypto::bytes_of;

/// Why an operation is impossible.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubtleRefusal {
    /// The key's bytes are no such key.
    Key(&'static str),
    /// The data does not fit the key or the parameters.
    Operation(&'static str),
    /// Loadstone does not have it.
    Unsupported(String),
}

pub(super) type SubtleResult<T> = Result<T, SubtleRefusal>;

/// Throws a refusal. `subtle.ts` turns the first word into the error's name.
pub(super) fn or_throw<T>(ctx: &Ctx<'_>, answer: SubtleResult<T>) -> rquickjs::Result<T> {
    answer.map_err(|refusal| {
        let text = match refusal {
            SubtleRefusal::Key(why) => format!("DataError {why}"),
            SubtleRefusal::Operation(why) => format!("OperationError {why}"),
            SubtleRefusal::Unsupported(what) => {
                format!("NotSupportedError Loadstone does not support {what}: see docs/k6-compatibility.md")
            }
        };
        Exception::throw_message(ctx, &text)
    })
}

/// The field of an object, as bytes.
pub(super) fn field<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> rquickjs::Result<Vec<u8>> {
    bytes_of(ctx, &object.get::<_, Value<'js>>(name)?)
}

/// An object of byte strings.
pub(super) fn fields<'js>(ctx: &Ctx<'js>, fields: &[(&str, &[u8])]) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, bytes) in fields {
        object.set(*name, ArrayBuffer::new(ctx.clone(), bytes.to_vec())?)?;
    }
    Ok(object)
}
