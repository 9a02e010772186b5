//! Messages as JSON and encoded, whoever they are for.

use bytes::Bytes;
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use rquickjs::{Ctx, Exception, Function, Value};

use super::misfit::misfit;
use super::words;

/// The JSON of an object of a script, not yet held against the type; `words` where the type has what JSON has no words for. Of nothing: of no fields.
///
/// # Errors
/// Throws that it is no object.
pub(super) fn to_json<'js>(
    ctx: &Ctx<'js>,
    (descriptor, words): (&MessageDescriptor, Option<Function<'js>>),
    what: &str,
    given: &Value<'js>,
) -> rquickjs::Result<String> {
    if given.is_undefined() || given.is_null() {
        return Ok("{}".to_owned());
    }
    if !given.is_object() || given.is_array() || given.is_function() {
        let problem = format!("{what}: expected the message as an object with the fields of {}", descriptor.full_name());
        return Err(Exception::throw_type(ctx, &problem));
    }
    let json = match words {
        Some(words) => ctx.json_stringify_replacer(given.clone(), words)?,
        None => ctx.json_stringify(given.clone())?,
    };
    json.map_or(Ok("{}".to_owned()), |json| json.to_string())
}

/// Encodes a message that is JSON.
///
/// # Errors
/// Which field does not fit, and how it is meant.
pub(crate) fn of_json(descriptor: &MessageDescriptor, json: &str) -> Result<Vec<u8>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(descriptor.clone(), &mut deserializer);
    message.map(|message| message.encode_to_vec()).map_err(|error| misfit(descriptor, json).unwrap_or_else(|| without_place(&error)))
}

/// serde_json says where in its text it stopped, which nobody has seen.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// A message as JSON: fields in camel case, those that are not set with their defaults.
///
/// # Errors
/// What does not fit the type.
pub(crate) fn decode(descriptor: &MessageDescriptor, message: Bytes) -> Result<String, String> {
    let wrong = |problem: &dyn std::fmt::Display| format!("the message is no {}: {problem}", descriptor.full_name());
    let message = DynamicMessage::decode(descriptor.clone(), message).map_err(|error| wrong(&error))?;
    let mut json = Vec::with_capacity(128);
    let options = SerializeOptions::new().skip_default_fields(false);
    message.serialize_with_options(&mut serde_json::Serializer::new(&mut json), &options).map_err(|error| wrong(&error))?;
    String::from_utf8(json).map_err(|error| wrong(&error))
}

/// A message that a method gives back, as JSON and encoded.
///
/// # Errors
/// Throws which field does not fit, and how it is meant.
pub(crate) fn answer<'js>(
    ctx: &Ctx<'js>,
    method: &MethodDescriptor,
    name: &str,
    given: &Value<'js>,
) -> rquickjs::Result<(String, Vec<u8>)> {
    let output = method.output();
    let words = if words::needs_words(&output) { Some(words::words(ctx)?) } else { None };
    let json = to_json(ctx, (&output, words), name, given)?;
    let bytes = of_json(&output, &json).map_err(|problem| Exception::throw_type(ctx, &format!("{name}: {problem}")))?;
    Ok((json, bytes))
}
