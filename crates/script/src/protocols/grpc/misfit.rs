//! Finds the part of an object that does not fit its message. Runs only after encoding has failed.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

/// Maximum number of fields that a message lists.
const LISTED_MAX: usize = 20;

/// Describes the first part of `json` that does not fit `message`. `None` if it is a kind of error that this search does not cover.
pub(super) fn misfit(message: &MessageDescriptor, json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    in_message(message, &value, "message")
}

fn in_message(message: &MessageDescriptor, value: &Value, path: &str) -> Option<String> {
    // Well-known types have their own formats: "2026-01-31T00:00:00Z", "1.5s".
    if value.is_null() || message.full_name().starts_with("google.protobuf.") {
        return None;
    }
    let Value::Object(object) = value else {
        return Some(format!("{path} is {}, expected an object: {} has fields", shown(value), message.full_name()));
    };
    object.iter().find_map(|(name, value)| {
        let found = message.get_field_by_json_name(name).or_else(|| message.get_field_by_name(name));
        match found {
            Some(field) => in_field(&field, value, &format!("{path}.{name}")),
            None => Some(unknown(message, name, path)),
        }
    })
}

fn unknown(message: &MessageDescriptor, name: &str, path: &str) -> String {
    let fields: Vec<String> = message.fields().map(|field| field.json_name().to_owned()).collect();
    let names: Vec<&str> = fields.iter().map(String::as_str).collect();
    let meant = loadstone_units::did_you_mean(name, &names);
    let more = if names.len() > LISTED_MAX { ", …" } else { "" };
    let listed = names.iter().take(LISTED_MAX).copied().collect::<Vec<_>>().join(", ");
    let has = if listed.is_empty() { "it has none".to_owned() } else { format!("its fields are: {listed}{more}") };
    format!("{path}: {} has no field `{name}`{meant}; {has}", message.full_name())
}

fn in_field(field: &FieldDescriptor, value: &Value, path: &str) -> Option<String> {
    if value.is_null() {
        return None;
    }
    if field.is_map() {
        let Value::Object(entries) = value else {
            return Some(format!("{path} is {}, expected an object of keys and values", shown(value)));
        };
        let kind = field.kind();
        let of_values = kind.as_message()?.map_entry_value_field();
        return entries.iter().find_map(|(key, value)| of_kind(&of_values.kind(), value, &format!("{path}.{key}")));
    }
    if field.is_list() {
        let Value::Array(items) = value else { return Some(format!("{path} is {}, expected a list", shown(value))) };
        return items.iter().enumerate().find_map(|(index, value)| of_kind(&field.kind(), value, &format!("{path}[{index}]")));
    }
    of_kind(&field.kind(), value, path)
}

fn of_kind(kind: &Kind, value: &Value, path: &str) -> Option<String> {
    let expected = match kind {
        Kind::Message(inner) => return in_message(inner, value, path),
        Kind::Enum(values) => {
            let names: Vec<String> = values.values().map(|value| value.name().to_owned()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            match value {
                Value::Number(_) => return None,
                Value::String(name) if names.contains(&name.as_str()) => return None,
                Value::String(name) => {
                    let meant = loadstone_units::did_you_mean(name, &names);
                    return Some(format!("{path} is {}{meant}, expected one of {}", shown(value), names.join(", ")));
                }
                _ => format!("one of {}", names.join(", ")),
            }
        }
        Kind::String if value.is_string() => return None,
        Kind::String => "a string".to_owned(),
        Kind::Bool if value.is_boolean() => return None,
        Kind::Bool => "true or false".to_owned(),
        Kind::Bytes if value.is_string() => return None,
        Kind::Bytes => "bytes (a Uint8Array, or base64)".to_owned(),
        Kind::Float | Kind::Double if is_number(value) => return None,
        Kind::Float | Kind::Double => "a number".to_owned(),
        _ if is_number(value) && whole(value) => return None,
        _ => format!("a whole number ({})", integer_name(kind)),
    };
    Some(format!("{path} is {}, expected {expected}", shown(value)))
}

fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.parse::<f64>().is_ok())
}

fn whole(value: &Value) -> bool {
    value.as_f64().is_none_or(|number| number.fract() == 0.0)
}

fn integer_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "int32",
        Kind::Uint32 | Kind::Fixed32 => "uint32",
        Kind::Uint64 | Kind::Fixed64 => "uint64",
        _ => "int64",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string(),
    }
}
