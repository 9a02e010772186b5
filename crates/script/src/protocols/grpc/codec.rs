//! Objects of a script to messages and back, by way of JSON as Protocol Buffers map it ("ProtoJSON Format").

use rquickjs::{Ctx, Exception, Value};

use super::json::{of_json, to_json};
use super::methods::{GrpcMethod, GrpcRealm};

/// A message that goes out: as bytes, and as the JSON that it was made of.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) json: String,
}

/// Encodes what a script gave for a call.
///
/// # Errors
/// Throws which field does not fit, and how it is meant.
pub(super) fn encode<'js>(ctx: &Ctx<'js>, realm: &GrpcRealm, method: &GrpcMethod, given: &Value<'js>) -> rquickjs::Result<Encoded> {
    let words = if method.input_needs_words { Some(realm.words.clone().restore(ctx)?) } else { None };
    let json = to_json(ctx, (&method.input, words), &method.name, given)?;
    let bytes = of_json(&method.input, &json).map_err(|problem| Exception::throw_type(ctx, &format!("{}: {problem}", method.name)))?;
    Ok(Encoded { bytes, json })
}
