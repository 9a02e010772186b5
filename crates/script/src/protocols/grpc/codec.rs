//! Objects of a script to messages and back, by way of JSON as Protocol Buffers map it ("ProtoJSON Format").

use rquickjs::{Ctx, Exception, Value};

use super::json::{of_json, to_json};
use super::methods::{GrpcMethod, GrpcRealm};

/// A message that goes out: as bytes, and as the JSON that it was made of.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Empty where nobody reads along.
    pub(super) json: String,
}

/// Encodes what a script gave for a call. `read_along`: somebody wants to see it as JSON.
///
/// # Errors
/// Throws which field does not fit, and how it is meant.
pub(super) fn encode<'js>(
    ctx: &Ctx<'js>,
    realm: &GrpcRealm,
    method: &GrpcMethod,
    given: &Value<'js>,
    read_along: bool,
) -> rquickjs::Result<Encoded> {
    if !read_along && let Some(bytes) = method.layout.encode(given) {
        return Ok(Encoded { bytes, json: String::new() });
    }
    let words = if method.input_needs_words { Some(realm.words.clone().restore(ctx)?) } else { None };
    let json = to_json(ctx, (&method.input, words), &method.name, given)?;
    let bytes = of_json(&method.input, &json).map_err(|problem| Exception::throw_type(ctx, &format!("{}: {problem}", method.name)))?;
    Ok(Encoded { bytes, json })
}
