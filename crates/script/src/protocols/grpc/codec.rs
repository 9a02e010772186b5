//! Converts objects of a script to messages and back, through the JSON mapping of Protocol Buffers ("ProtoJSON Format").

use rquickjs::{Ctx, Exception, Value};

use super::json::{of_json, to_json};
use super::methods::{GrpcMethod, GrpcRealm};

/// A message to send: as bytes, and as the JSON it was built from.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Empty unless the exchange is shown.
    pub(super) json: String,
}

/// Encodes the argument of a call. `read_along`: the exchange is shown, which needs the JSON.
///
/// # Errors
/// Throws which field does not fit, and what its type expects.
pub(super) fn encode<'js>(
    ctx: &Ctx<'js>,
    realm: &GrpcRealm,
    method: &GrpcMethod,
    value: &Value<'js>,
    read_along: bool,
) -> rquickjs::Result<Encoded> {
    if !read_along && let Some(bytes) = method.layout.encode(value) {
        return Ok(Encoded { bytes, json: String::new() });
    }
    let replacer = if method.input_needs_replacer { Some(realm.replacer.clone().restore(ctx)?) } else { None };
    let json = to_json(ctx, (&method.input, replacer), &method.name, value)?;
    let bytes = of_json(&method.input, &json).map_err(|problem| Exception::throw_type(ctx, &format!("{}: {problem}", method.name)))?;
    Ok(Encoded { bytes, json })
}
