//! Messages as JSON and as bytes, for users and stubs.

use bytes::Bytes;
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use rquickjs::{Ctx, Exception, Function, Value};

use super::misfit::misfit;
use super::replacer;

/// The JSON of a script's object, not yet checked against the type. `replacer` is for types with values that JSON cannot represent.
/// `undefined` yields a message without fields.
///
/// # Errors
/// Throws that it is not an object.
pub(super) fn to_json<'js>(
    ctx: &Ctx<'js>,
    (descriptor, replacer): (&MessageDescriptor, Option<Function<'js>>),
    what: &str,
    value: &Value<'js>,
) -> rquickjs::Result<String> {
    if value.is_undefined() || value.is_null() {
        return Ok("{}".to_owned());
    }
    if !value.is_object() || value.is_array() || value.is_function() {
        let problem = format!("{what}: expected the message as an object with the fields of {}", descriptor.full_name());
        return Err(Exception::throw_type(ctx, &problem));
    }
    let json = match replacer {
        Some(replacer) => ctx.json_stringify_replacer(value.clone(), replacer)?,
        None => ctx.json_stringify(value.clone())?,
    };
    json.map_or(Ok("{}".to_owned()), |json| json.to_string())
}

/// Encodes a message that is JSON.
///
/// # Errors
/// Which field does not fit, and what its type expects.
pub(crate) fn of_json(descriptor: &MessageDescriptor, json: &str) -> Result<Vec<u8>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut deserializer);
    message.map(|message| message.encode_to_vec()).map_err(|error| misfit(descriptor, json).unwrap_or_else(|| without_place(&error)))
}

/// serde_json reports a position in its text, which the user has not seen.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A message as JSON: fields in camel case, unset fields with their defaults.
///
/// # Errors
/// The part that does not fit the type.
pub(crate) fn decode(descriptor: &MessageDescriptor, message: Bytes) -> Result<String, String> {
    let wrong = |problem: &dyn std::fmt::Display| format!("the message is not a valid {}: {problem}", descriptor.full_name());
    let message = DynamicMessage::decode(descriptor.clone(), message).map_err(|error| wrong(&error))?;
    let mut json = Vec::with_capacity(128);
    let options = SerializeOptions::new().skip_default_fields(false);
    message.serialize_with_options(&mut serde_json::Serializer::new(&mut json), &options).map_err(|error| wrong(&error))?;
    String::from_utf8(json).map_err(|error| wrong(&error))
}

/// A message that a method returns, as JSON and encoded.
///
/// # Errors
/// Throws which field does not fit, and what its type expects.
pub(crate) fn answer<'js>(
    ctx: &Ctx<'js>,
    method: &MethodDescriptor,
    name: &str,
    value: &Value<'js>,
) -> rquickjs::Result<(String, Vec<u8>)> {
    let output = method.output();
    let replacer = if replacer::needs_replacer(&output) { Some(replacer::replacer(ctx)?) } else { None };
    let json = to_json(ctx, (&output, replacer), name, value)?;
    let bytes = of_json(&output, &json).map_err(|problem| Exception::throw_type(ctx, &format!("{name}: {problem}")))?;
    Ok((json, bytes))
}
