//! Objects of a script to messages and back, by way of JSON as Protocol Buffers map it ("ProtoJSON Format").

use bytes::Bytes;
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use rquickjs::{Ctx, Exception, Value};

use super::methods::{GrpcMethod, GrpcRealm};
use super::misfit::misfit;

/// A message that goes out: as bytes, and as the JSON that it was made of.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) json: String,
}

/// Encodes what a script gave.
///
/// # Errors
/// Throws which field does not fit, and how it is meant.
pub(super) fn encode<'js>(ctx: &Ctx<'js>, realm: &GrpcRealm, method: &GrpcMethod, given: &Value<'js>) -> rquickjs::Result<Encoded> {
    let json = to_json(ctx, realm, method, given)?;
    let mut deserializer = serde_json::Deserializer::from_str(&json);
    let message = DynamicMessage::deserialize(method.input.clone(), &mut deserializer).map_err(|error| {
        let problem = misfit(&method.input, &json).unwrap_or_else(|| without_place(&error));
        Exception::throw_type(ctx, &format!("{}: {problem}", method.name))
    })?;
    Ok(Encoded { bytes: message.encode_to_vec(), json })
}

fn to_json<'js>(ctx: &Ctx<'js>, realm: &GrpcRealm, method: &GrpcMethod, given: &Value<'js>) -> rquickjs::Result<String> {
    if given.is_undefined() || given.is_null() {
        return Ok("{}".to_owned());
    }
    if !given.is_object() || given.is_array() || given.is_function() {
        let problem = format!("{}: expected the message as an object with the fields of {}", method.name, method.input.full_name());
        return Err(Exception::throw_type(ctx, &problem));
    }
    let json = if method.input_needs_words {
        ctx.json_stringify_replacer(given.clone(), realm.words.clone().restore(ctx)?)?
    } else {
        ctx.json_stringify(given.clone())?
    };
    json.map_or(Ok("{}".to_owned()), |json| json.to_string())
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
pub(super) fn decode(descriptor: &MessageDescriptor, message: Bytes) -> Result<String, String> {
    let wrong = |problem: &dyn std::fmt::Display| format!("the message is no {}: {problem}", descriptor.full_name());
    let message = DynamicMessage::decode(descriptor.clone(), message).map_err(|error| wrong(&error))?;
    let mut json = Vec::with_capacity(128);
    let options = SerializeOptions::new().skip_default_fields(false);
    message.serialize_with_options(&mut serde_json::Serializer::new(&mut json), &options).map_err(|error| wrong(&error))?;
    String::from_utf8(json).map_err(|error| wrong(&error))
}
